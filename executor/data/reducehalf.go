package data

import "math"

// The reducers of the 16-bit floats work in f32 and round back. They take most of
// the time of a program that reduces gradients, and values are of all kinds, so
// that nothing in them depends on a value by a jump: an f16 is widened and rounded
// by tables, and a bf16 is half of an f32 anyway. half.go
// says the same plainly, and the tests hold one to the other.

// wideF16 is every f16's value.
var wideF16 = func() *[1 << 16]float32 {
	var all [1 << 16]float32
	for b := range all {
		all[b] = FromF16(uint16(b))
	}
	return &all
}()

// roundF16 is ToF16, by what its sign and exponent say of it, which are the upper
// nine bits of an f32; of what is no number, another.
func roundF16(x float32) uint16 {
	bits := math.Float32bits(x)
	r := &roundings[bits>>23]
	fraction, shift := bits&0x7fffff|r.hidden, r.shift&31
	return r.base + uint16((fraction+r.half+fraction>>shift&1)>>shift)
}

// rounding is how values of one sign and exponent become an f16: the fraction,
// with its hidden bit where that is no longer hidden, loses its last bits, to the
// nearest and in the middle to even, and is added to the base. Its carry goes on
// into the exponent, up to infinity.
type rounding struct {
	base         uint16
	shift        uint8
	hidden, half uint32
}

var roundings = func() *[512]rounding {
	var all [512]rounding
	for i := range all {
		r := rounding{shift: 31} // none of the fraction is left
		switch exponent := i & 255; {
		case exponent == 255: // infinite without a fraction, and else no number
			r = rounding{base: 0x7c00, shift: 23, half: 1<<23 - 1}
		case exponent >= 143: // 65536 and above
			r.base = 0x7c00
		case exponent >= 113:
			r = rounding{base: uint16(exponent-112) << 10, shift: 13, half: 1<<12 - 1}
		case exponent >= 102: // subnormal, down to half of the smallest
			shift := 13 + 113 - exponent
			r = rounding{shift: uint8(shift), hidden: 1 << 23, half: 1<<(shift-1) - 1}
		}
		r.base |= uint16(i >> 8 << 15)
		all[i] = r
	}
	return &all
}()

// roundBF16 is ToBF16: the carry of rounding goes on into the exponent.
func roundBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	rounded := (bits + 0x7fff + bits>>16&1) >> 16
	if bits&^(1<<31) > 0x7f800000 {
		rounded = bits>>16 | 0x40
	}
	return uint16(rounded)
}

// The loops are functions of their own, and not made where the table of reducers
// is: the compiler puts no other function's code into what runs once, at the
// start, and a call for every element takes several times as long as its sum.

var (
	reducersF16  = [4]Reducer{Sum: sumF16, Prod: prodF16, Min: minF16, Max: maxF16}
	reducersBF16 = [4]Reducer{Sum: sumBF16, Prod: prodBF16, Min: minBF16, Max: maxBF16}
)

func sumF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16
	for i := range d {
		d[i] = roundF16(w[x[i]] + w[y[i]])
	}
}

func prodF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16
	for i := range d {
		d[i] = roundF16(w[x[i]] * w[y[i]])
	}
}

func minF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16
	for i := range d {
		d[i] = roundF16(min(w[x[i]], w[y[i]]))
	}
}

func maxF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16
	for i := range d {
		d[i] = roundF16(max(w[x[i]], w[y[i]]))
	}
}

func sumBF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	for i := range d {
		d[i] = roundBF16(FromBF16(x[i]) + FromBF16(y[i]))
	}
}

func prodBF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	for i := range d {
		d[i] = roundBF16(FromBF16(x[i]) * FromBF16(y[i]))
	}
}

func minBF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	for i := range d {
		d[i] = roundBF16(min(FromBF16(x[i]), FromBF16(y[i])))
	}
}

func maxBF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	for i := range d {
		d[i] = roundBF16(max(FromBF16(x[i]), FromBF16(y[i])))
	}
}
