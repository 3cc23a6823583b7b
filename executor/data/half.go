package data

import "math"

// Conversions of the 16-bit float types, kept as their bits. An f16 has 5 bits of
// exponent and 10 of fraction; a bf16 is the upper half of an f32. Conversions to
// them round to nearest, ties to even, and keep NaN a NaN.

// ToF16 rounds x to an f16.
func ToF16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return sign | 0x7e00
	case bits >= 0x47800000: // 65536 and above become infinity
		return sign | 0x7c00
	case bits < 0x38800000: // subnormal: added to 0.5, the sum's last bit is worth 2^-24, f16's smallest step
		return sign | uint16(math.Float32bits(math.Float32frombits(bits)+0.5)-math.Float32bits(0.5))
	}
	// A carry out of the fraction raises the exponent, up to infinity, as rounding
	// requires.
	return sign | uint16((bits-0x38000000+0xfff+bits>>13&1)>>13)
}

// FromF16 returns the value of an f16.
func FromF16(b uint16) float32 {
	bits := uint32(b&0x7fff) << 13
	if bits < 0x0f800000 {
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	} else {
		bits |= 0x7f800000 // infinity or NaN
	}
	return math.Float32frombits(bits | uint32(b&0x8000)<<16)
}

// ToBF16 rounds x to a bf16.
func ToBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// FromBF16 returns the value of a bf16.
func FromBF16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
