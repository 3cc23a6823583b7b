package data

import "math"

// The two 16-bit floats, as their bits: f16 has 5 bits of exponent and 10 of
// fraction, bf16 is the upper half of an f32. Into them, values round to the
// nearest, ties to even; not-a-number stays so.

// ToF16 is x as the bits of an f16.
func ToF16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x47800000: // 65536 and above
		return sign | 0x7c00
	case bits < 0x33000000: // below half of the smallest
		return sign
	case bits < 0x38800000: // subnormal: a multiple of 2^-24
		shift := 126 - bits>>23 // 14 to 24 bits are too many
		fraction := bits&0x7fffff | 0x800000
		return sign | uint16(roundedShift(fraction, shift))
	}
	// The carry of rounding goes on into the exponent, up to infinity.
	return sign | uint16(roundedShift(bits-0x38000000, 13))
}

// FromF16 is the value of an f16's bits.
func FromF16(b uint16) float32 {
	sign := uint32(b&0x8000) << 16
	exponent, fraction := uint32(b>>10&0x1f), uint32(b&0x3ff)
	switch exponent {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case 0:
		x := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(x))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToBF16 is x as the bits of a bf16.
func ToBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FromBF16 is the value of a bf16's bits.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// roundedShift is x without its lowest n bits, rounded to the nearest, ties to
// even.
func roundedShift(x, n uint32) uint32 {
	return (x + 1<<(n-1) - 1 + x>>n&1) >> n
}
