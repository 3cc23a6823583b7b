package ptxtest

import (
	"math"
	"math/bits"
)

// kind is a type of PTX: its class and its bits.
type kind struct {
	is   byte // 's' signed, 'u' unsigned, 'b' bits, 'f' floating, 'p' predicate
	bits int
}

var kinds = map[string]kind{
	".pred": {'p', 1},
	".b8":   {'b', 8}, ".b16": {'b', 16}, ".b32": {'b', 32}, ".b64": {'b', 64},
	".u8": {'u', 8}, ".u16": {'u', 16}, ".u32": {'u', 32}, ".u64": {'u', 64},
	".s8": {'s', 8}, ".s16": {'s', 16}, ".s32": {'s', 32}, ".s64": {'s', 64},
	".f16": {'f', 16}, ".f32": {'f', 32}, ".f64": {'f', 64},
}

func (p *parser) typeOf(name string) kind {
	t, ok := kinds[name]
	if !ok {
		p.at--
		p.fail("%s is no type that is known here", name)
	}
	return t
}

// cut keeps the bits of the type. Those above are 0 in registers.
func (t kind) cut(v uint64) uint64 {
	if t.bits == 64 {
		return v
	}
	return v & (1<<t.bits - 1)
}

// wide extends a value to 64 bits, with its sign if it has one.
func (t kind) wide(v uint64) uint64 {
	if t.is == 's' {
		shift := 64 - t.bits
		return uint64(int64(v<<shift) >> shift)
	}
	return t.cut(v)
}

// operation is a row of the table: a function of up to three values. of32 and of64 convert
// those of float types.
type operation struct {
	operands int
	types    string // kinds it takes, by their letters
	of       func(t kind) func(a, b, c uint64) uint64
}

func of32(f func(a, b float32) float32) func(a, b, c uint64) uint64 {
	return func(a, b, _ uint64) uint64 {
		return uint64(math.Float32bits(f(math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)))))
	}
}

func of64(f func(a, b float64) float64) func(a, b, c uint64) uint64 {
	return func(a, b, _ uint64) uint64 {
		return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
	}
}

// either is an operation on integers, whose result is cut, and on floats.
func either(integer func(a, b uint64) uint64, single func(a, b float32) float32, double func(a, b float64) float64) func(kind) func(a, b, c uint64) uint64 {
	return func(t kind) func(a, b, c uint64) uint64 {
		switch {
		case t.is == 'f' && t.bits == 32:
			return of32(single)
		case t.is == 'f':
			return of64(double)
		}
		return func(a, b, _ uint64) uint64 { return t.cut(integer(a, b)) }
	}
}

// bitwise is an operation of bits and predicates.
func bitwise(f func(a, b uint64) uint64) func(kind) func(a, b, c uint64) uint64 {
	return func(t kind) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return t.cut(f(a, b)) }
	}
}

// bySign is an operation that differs between signed and unsigned integers.
func bySign(signed func(a, b int64) int64, unsigned func(a, b uint64) uint64) func(kind) func(a, b, c uint64) uint64 {
	return func(t kind) func(a, b, c uint64) uint64 {
		if t.is == 's' {
			return func(a, b, _ uint64) uint64 { return t.cut(uint64(signed(int64(t.wide(a)), int64(t.wide(b))))) }
		}
		return func(a, b, _ uint64) uint64 { return t.cut(unsigned(a, b)) }
	}
}

// high is the upper half of a product.
func high(t kind) func(a, b, c uint64) uint64 {
	return func(a, b, _ uint64) uint64 {
		hi, lo := bits.Mul64(t.wide(a), t.wide(b))
		if t.is == 's' { // the part that the signs contribute
			hi -= t.wide(b) * (t.wide(a) >> 63)
			hi -= t.wide(a) * (t.wide(b) >> 63)
		}
		if t.bits == 64 {
			return hi
		}
		return t.cut(lo >> t.bits)
	}
}

// shifted is a shift by at most the width.
func shifted(f func(t kind, a uint64, by uint) uint64) func(kind) func(a, b, c uint64) uint64 {
	return func(t kind) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return t.cut(f(t, a, uint(min(b&math.MaxUint32, uint64(t.bits))))) }
	}
}

// fault is the panic that ends a thread, with its reason.
type fault string

// divisor faults at 0, because PTX leaves division by 0 undefined.
func divisor[T int64 | uint64](b T) T {
	if b == 0 {
		panic(fault("a division by 0"))
	}
	return b
}

// operations is the table. Comparisons are in comparisons, conversions in
// converted.
var operations = map[string]operation{
	"add": {2, "suf", either(func(a, b uint64) uint64 { return a + b }, func(a, b float32) float32 { return a + b }, func(a, b float64) float64 { return a + b })},
	"sub": {2, "suf", either(func(a, b uint64) uint64 { return a - b }, func(a, b float32) float32 { return a - b }, func(a, b float64) float64 { return a - b })},
	"neg": {1, "sf", either(func(a, _ uint64) uint64 { return -a }, func(a, _ float32) float32 { return -a }, func(a, _ float64) float64 { return -a })},

	"mul.lo": {2, "su", bitwise(func(a, b uint64) uint64 { return a * b })},
	"mul.hi": {2, "su", high},
	"mul.wide": {2, "su", func(t kind) func(a, b, c uint64) uint64 {
		return func(a, b, _ uint64) uint64 { return kind{'b', 2 * t.bits}.cut(t.wide(a) * t.wide(b)) }
	}},
	"mul": {2, "f", either(nil, func(a, b float32) float32 { return a * b }, func(a, b float64) float64 { return a * b })},
	"mad.lo": {3, "su", func(t kind) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 { return t.cut(a*b + c) }
	}},
	"div":    {2, "su", bySign(func(a, b int64) int64 { return a / divisor(b) }, func(a, b uint64) uint64 { return a / divisor(b) })},
	"div.rn": {2, "f", either(nil, func(a, b float32) float32 { return a / b }, func(a, b float64) float64 { return a / b })},
	"rem":    {2, "su", bySign(func(a, b int64) int64 { return a % divisor(b) }, func(a, b uint64) uint64 { return a % divisor(b) })},
	"min":    {2, "su", bySign(func(a, b int64) int64 { return min(a, b) }, func(a, b uint64) uint64 { return min(a, b) })},
	"max":    {2, "su", bySign(func(a, b int64) int64 { return max(a, b) }, func(a, b uint64) uint64 { return max(a, b) })},

	"and": {2, "bp", bitwise(func(a, b uint64) uint64 { return a & b })},
	"or":  {2, "bp", bitwise(func(a, b uint64) uint64 { return a | b })},
	"xor": {2, "bp", bitwise(func(a, b uint64) uint64 { return a ^ b })},
	"not": {1, "bp", bitwise(func(a, _ uint64) uint64 { return ^a })},
	"shl": {2, "b", shifted(func(_ kind, a uint64, by uint) uint64 { return a << by })},
	"shr": {2, "sub", shifted(func(t kind, a uint64, by uint) uint64 {
		if t.is == 's' {
			return uint64(int64(t.wide(a)) >> by)
		}
		return a >> by
	})},
	"bfe": {3, "u", func(t kind) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 {
			return a >> min(b&255, 64) & (1<<min(c&255, 64) - 1)
		}
	}},
}

// comparisons are those of setp. Integers are compared by their order; floats are
// false if either is not a number.
var comparisons = map[string]struct{ less, equal, greater, unordered bool }{
	"eq": {equal: true},
	"ne": {less: true, greater: true},
	"lt": {less: true},
	"le": {less: true, equal: true},
	"gt": {greater: true},
	"ge": {greater: true, equal: true},
}

// compared returns a comparison on a type; nil if there is none.
func compared(name string, t kind) func(a, b, c uint64) uint64 {
	want, ok := comparisons[name]
	if !ok || t.is == 'p' || t.is == 'b' && name != "eq" && name != "ne" || t.is == 'f' && t.bits < 32 {
		return nil
	}
	said := func(less, equal, unordered bool) uint64 {
		if unordered && want.unordered || !unordered && (less && want.less || equal && want.equal || !less && !equal && want.greater) {
			return 1
		}
		return 0
	}
	switch {
	case t.is == 'f' && t.bits == 32:
		return func(a, b, _ uint64) uint64 {
			x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
			return said(x < y, x == y, x != x || y != y)
		}
	case t.is == 'f':
		return func(a, b, _ uint64) uint64 {
			x, y := math.Float64frombits(a), math.Float64frombits(b)
			return said(x < y, x == y, x != x || y != y)
		}
	case t.is == 's':
		return func(a, b, _ uint64) uint64 {
			x, y := int64(t.wide(a)), int64(t.wide(b))
			return said(x < y, x == y, false)
		}
	}
	return func(a, b, _ uint64) uint64 { return said(a < b, a == b, false) }
}

// converted returns a conversion between two types; nil if it is unknown.
func converted(to, from kind, rounding string) func(a, b, c uint64) uint64 {
	whole := func(t kind) bool { return t.is == 's' || t.is == 'u' }
	number := func(a uint64) float64 { return float64(a) }
	single := func(a uint64) float32 { return float32(a) }
	if from.is == 's' {
		number = func(a uint64) float64 { return float64(int64(from.wide(a))) }
		single = func(a uint64) float32 { return float32(int64(from.wide(a))) }
	}
	switch {
	case whole(to) && whole(from) && rounding == "":
		return func(a, _, _ uint64) uint64 { return to.cut(from.wide(a)) }
	case to == kind{'f', 64} && whole(from) && rounding == "rn":
		return func(a, _, _ uint64) uint64 { return math.Float64bits(number(from.cut(a))) }
	case to == kind{'f', 32} && whole(from) && rounding == "rn":
		return func(a, _, _ uint64) uint64 { return uint64(math.Float32bits(single(from.cut(a)))) }
	case to == kind{'f', 32} && from == kind{'f', 64} && rounding == "rn":
		return func(a, _, _ uint64) uint64 {
			return uint64(math.Float32bits(float32(math.Float64frombits(a))))
		}
	case to == kind{'f', 32} && from == kind{'f', 16} && rounding == "":
		return func(a, _, _ uint64) uint64 { return uint64(math.Float32bits(fromHalf(uint16(a)))) }
	case to == kind{'f', 16} && from == kind{'f', 32} && rounding == "rn":
		return func(a, _, _ uint64) uint64 { return uint64(toHalf(math.Float32frombits(uint32(a)))) }
	}
	return nil
}
