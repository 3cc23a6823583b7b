package ptxtest

import "math"

// fromHalf returns the value of an f16.
func fromHalf(h uint16) float32 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	v := 0.0
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 31:
		v = math.Inf(1)
		if fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 != 0 {
		v = math.Copysign(v, -1)
	}
	return float32(v)
}

// toHalf rounds to the nearest f16, ties to even. Every NaN becomes the hardware's
// canonical one.
func toHalf(f float32) uint16 {
	v := float64(f)
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	switch {
	case v != v:
		return 0x7fff
	case v >= 65520: // half-way to what would come after the largest
		return sign | 0x7c00
	}
	unit := -24
	if v > 0 {
		_, exponent := math.Frexp(v) // v is from 2^(exponent-1) up
		unit = max(exponent-11, unit)
	}
	steps := uint16(math.RoundToEven(math.Ldexp(v, -unit)))
	// Numbers below 2^-14 have no leading one, and all others one that counts
	// as one exponent more.
	return sign | (uint16(unit+24)<<10 + steps)
}
