package data

import (
	"encoding/binary"
	"math"
)

const (
	ofSeed    = 0x2545f4914f6cdd1d
	ofRank    = 0xd1b54a32d192ed03
	ofElement = 0x9e3779b97f4a7c15
	turnRank  = 0xffffffff // stands for no rank: its hash decides whose turn an element is
	maxM      = 1 << 20
)

// Form is how an element is derived from its hash.
type Form uint8

// The forms. The package comment defines them.
const (
	Bits    Form = iota // the low bits of the hash
	OddBits             // the same with the lowest bit set
	Integer             // below(2M+1) - M on the rank's turn, else 0
	Power               // ±2^(below(3)-1) on the rank's turn, else ±1
)

// Params are the constants of a generator of inputs. The package comment defines the rest,
// for generators in other languages.
type Params struct {
	DType DType
	Form  Form
	Seed  uint64
	M     uint32 // bound of Integer's values
	K     uint32 // a rank has its turn at one in K elements
}

// NewParams chooses the constants such that reductions of the given number of terms are
// exact. 0 terms: nothing is reduced.
func NewParams(d DType, op Op, terms int, seed int64) Params {
	p := Params{DType: d, Seed: uint64(seed), K: 1}
	t := dtypes[d]
	switch {
	case terms == 0 || !d.Float() && op != Prod:
		p.Form = Bits
	case !d.Float():
		p.Form = OddBits
	case op == Prod:
		p.Form = Power
		p.K = uint32((terms + t.exponents - 1) / t.exponents)
	default:
		p.Form = Integer
		whole := uint64(1) << t.precision
		if op == Min || op == Max {
			p.M = uint32(min(whole-1, maxM))
			break
		}
		p.M = uint32(max(min(whole/uint64(terms), maxM), 1))
		p.K = uint32((uint64(terms) + whole - 1) / whole)
	}
	return p
}

// Hash returns the hash from which an element of a rank's input is derived.
func Hash(seed uint64, rank uint32, element uint64) uint64 {
	return mix(seed*ofSeed + uint64(rank)*ofRank + element*ofElement)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func below(h, n uint64) uint64 { return (h >> 32) * n >> 32 }

// turn reports whether an element is a rank's turn to contribute a value other than
// the neutral one.
func (p *Params) turn(rank uint32, element uint64) bool {
	return p.K == 1 || (uint64(rank)+Hash(p.Seed, turnRank, element)>>32)%uint64(p.K) == 0
}

// number returns the value of an element of a float type. Every float type represents it
// exactly.
func (p *Params) number(rank uint32, element uint64) float64 {
	h := Hash(p.Seed, rank, element)
	if p.Form == Integer {
		if !p.turn(rank, element) {
			return 0
		}
		return float64(int64(below(h, 2*uint64(p.M)+1)) - int64(p.M))
	}
	v := 1.0
	if p.turn(rank, element) {
		v = [...]float64{0.5, 1, 2}[below(h, 3)]
	}
	if h&1 != 0 {
		return -v
	}
	return v
}

// Value returns an element of a rank's input, as bits.
func (p *Params) Value(rank int, element int64) uint64 {
	switch p.Form {
	case Bits:
		return Hash(p.Seed, uint32(rank), uint64(element)) & mask(p.DType)
	case OddBits:
		return Hash(p.Seed, uint32(rank), uint64(element))&mask(p.DType) | 1
	}
	return toBits(p.DType, p.number(uint32(rank), uint64(element)))
}

func mask(d DType) uint64 { return math.MaxUint64 >> (64 - 8*d.Bytes()) }

// toBits rounds x to a float type, and returns its bits.
func toBits(d DType, x float64) uint64 {
	switch d {
	case F16:
		return uint64(ToF16(float32(x)))
	case BF16:
		return uint64(ToBF16(float32(x)))
	case F32:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}

// put stores the low n bytes of an element.
func put(b []byte, n int, bits uint64) {
	switch n {
	case 1:
		b[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(bits))
	default:
		binary.LittleEndian.PutUint64(b, bits)
	}
}
