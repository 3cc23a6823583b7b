package data

import (
	"math"
	"sync"
)

// The reducers of the 16-bit floats compute in f32 and round back. A program that
// reduces gradients spends most of its time here, and gradients take all kinds of
// values, so these loops have no branch that depends on a value: f16 is widened
// and rounded through tables, and a bf16 is the upper half of an f32 anyway.
// half.go has the plain versions; tests compare the two.

// wideF16 is the value of every f16.
var wideF16 = sync.OnceValue(func() *[1 << 16]float32 {
	var all [1 << 16]float32
	for b := range all {
		all[b] = FromF16(uint16(b))
	}
	return &all
})

// roundF16 is ToF16 through a table that is indexed by the sign and exponent, the
// upper nine bits of an f32. NaNs stay NaNs but may get other bits than from
// ToF16.
func roundF16(x float32) uint16 {
	bits := math.Float32bits(x)
	r := &roundings[bits>>23]
	fraction, shift := bits&0x7fffff|r.hidden, r.shift&31
	return r.base + uint16((fraction+r.half+fraction>>shift&1)>>shift)
}

// rounding is how f32 values of one sign and exponent become an f16. The fraction
// loses its last shift bits, rounding to nearest and ties to even, and is added to
// base; hidden is the implicit leading bit where the f16 is subnormal and has to
// store it. A carry out of the fraction raises the exponent, up to infinity, as it
// should.
type rounding struct {
	base         uint16
	shift        uint8
	hidden, half uint32
}

var roundings = func() *[512]rounding {
	var all [512]rounding
	for i := range all {
		r := rounding{shift: 31} // shifts out the whole fraction
		switch exponent := i & 255; {
		case exponent == 255: // infinity where the fraction is 0, else NaN
			r = rounding{base: 0x7c00, shift: 23, half: 1<<23 - 1}
		case exponent >= 143: // 65536 and above become infinity
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

// roundBF16 is ToBF16, written so that it is inlined and has no branch. A carry
// out of the fraction raises the exponent, as it should.
func roundBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	rounded := (bits + 0x7fff + bits>>16&1) >> 16
	if bits&^(1<<31) > 0x7f800000 {
		rounded = bits>>16 | 0x40
	}
	return uint16(rounded)
}

// Each loop is a function of its own rather than a closure in the table of
// reducers. The compiler does not inline calls in code that initialises package
// variables, and a call for every element costs several times as much as the
// addition.

var (
	reducersF16  = [4]Reducer{Sum: sumF16, Prod: prodF16, Min: minF16, Max: maxF16}
	reducersBF16 = [4]Reducer{Sum: sumBF16, Prod: prodBF16, Min: minBF16, Max: maxBF16}
)

func sumF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16()
	for i := range d {
		d[i] = roundF16(w[x[i]] + w[y[i]])
	}
}

func prodF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16()
	for i := range d {
		d[i] = roundF16(w[x[i]] * w[y[i]])
	}
}

func minF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16()
	for i := range d {
		d[i] = roundF16(min(w[x[i]], w[y[i]]))
	}
}

func maxF16(dst, a, b []byte) {
	d, x, y := triple[uint16](dst, a, b)
	w := wideF16()
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
