package data

import "math"

// This file computes the same elements as Params.Value, but many at a time and
// faster: the hashes of neighbouring elements start from values a constant apart,
// and choices that depend only on the type are made once. Tests compare the two.

// Fill writes consecutive elements of a rank's input to dst, from element first on. dst is
// a whole number of elements.
func (p *Params) Fill(dst []byte, rank int, first int64) {
	if p.Form == Bits || p.Form == OddBits {
		p.fillBits(dst, rank, first)
		return
	}
	var some [256]float64
	for size := p.DType.Bytes(); len(dst) > 0; first += int64(len(some)) {
		n := min(len(dst)/size, len(some))
		p.numbers(some[:n], rank, first)
		storeFloats(dst[:n*size], p.DType, some[:n])
		dst = dst[n*size:]
	}
}

func (p *Params) fillBits(dst []byte, rank int, first int64) {
	x, odd := p.before(rank, first), uint64(0)
	if p.Form == OddBits {
		odd = 1
	}
	switch p.DType.Bytes() {
	case 1:
		fillBits(elements[uint8](dst), x, odd)
	case 2:
		fillBits(elements[uint16](dst), x, odd)
	case 4:
		fillBits(elements[uint32](dst), x, odd)
	default:
		fillBits(elements[uint64](dst), x, odd)
	}
}

func fillBits[T uint8 | uint16 | uint32 | uint64](dst []T, x, odd uint64) {
	for i := range dst {
		dst[i] = T(mix(x) | odd)
		x += ofElement
	}
}

// before is the value that is mixed into an element's hash.
func (p *Params) before(rank int, element int64) uint64 {
	return p.Seed*ofSeed + uint64(rank)*ofRank + uint64(element)*ofElement
}

// bits computes consecutive elements of an integer type, each widened to 64 bits.
func (p *Params) bits(dst []uint64, rank int, first int64) {
	x, used, odd := p.before(rank, first), mask(p.DType), uint64(0)
	if p.Form == OddBits {
		odd = 1
	}
	for i := range dst {
		dst[i] = mix(x)&used | odd
		x += ofElement
	}
}

// numbers computes consecutive elements of a float type, as float64 values.
func (p *Params) numbers(dst []float64, rank int, first int64) {
	x := p.before(rank, first)
	switch {
	case p.K > 1:
		for i := range dst {
			dst[i] = p.number(uint32(rank), uint64(first)+uint64(i))
		}
	case p.Form == Integer:
		for i := range dst {
			dst[i] = float64(int64(below(mix(x), 2*uint64(p.M)+1)) - int64(p.M))
			x += ofElement
		}
	default: // h's lowest bit becomes the sign, and the exponent is -1, 0 or 1
		for i := range dst {
			h := mix(x)
			dst[i] = math.Float64frombits(h<<63 | (1022+below(h, 3))<<52)
			x += ofElement
		}
	}
}

// storeFloats writes numbers as elements of a float type.
func storeFloats(dst []byte, d DType, from []float64) {
	switch d {
	case F64:
		copy(elements[float64](dst), from)
	case F32:
		for i, to := 0, elements[float32](dst); i < len(to); i++ {
			to[i] = float32(from[i])
		}
	case F16:
		for i, to := 0, elements[uint16](dst); i < len(to); i++ {
			to[i] = ToF16(float32(from[i]))
		}
	default:
		for i, to := 0, elements[uint16](dst); i < len(to); i++ {
			to[i] = ToBF16(float32(from[i]))
		}
	}
}

// storeBits writes the low bytes of each number, size of them, as elements.
func storeBits(dst []byte, size int, from []uint64) {
	switch size {
	case 1:
		narrow(elements[uint8](dst), from)
	case 2:
		narrow(elements[uint16](dst), from)
	case 4:
		narrow(elements[uint32](dst), from)
	default:
		copy(elements[uint64](dst), from)
	}
}

func narrow[T uint8 | uint16 | uint32](dst []T, from []uint64) {
	for i := range dst {
		dst[i] = T(from[i])
	}
}
