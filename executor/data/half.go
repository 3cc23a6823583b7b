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
	case bits < 0x38800000: // subnormal: beside a half, a bit is 2^-24
		return sign | uint16(math.Float32bits(math.Float32frombits(bits)+0.5)-math.Float32bits(0.5))
	}
	// The carry of rounding goes on into the exponent, up to infinity.
	return sign | uint16((bits-0x38000000+0xfff+bits>>13&1)>>13)
}

// FromF16 is the value of an f16's bits.
func FromF16(b uint16) float32 {
	bits := uint32(b&0x7fff) << 13
	if bits < 0x0f800000 {
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	} else {
		bits |= 0x7f800000 // infinite, or no number
	}
	return math.Float32frombits(bits | uint32(b&0x8000)<<16)
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
