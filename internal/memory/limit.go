package memory

import "math/bits"

// unknown is the limit on a machine that does not say how much it has, in bytes.
const unknown = 6 << 30

// Default is how much a command may use if nobody says otherwise: three quarters of
// the memory of this machine, or of what its control groups may use, rounded down to
// a power of two or one and a half, so that machines of one kind have the same.
func Default() int64 {
	all := Machine()
	if all <= 0 {
		return unknown
	}
	return rounded(all / 4 * 3)
}

// rounded is the largest of 1, 1.5, 2, 3, 4, 6, … that is at most n.
func rounded(n int64) int64 {
	if n < 2 {
		return 1
	}
	power := int64(1) << (bits.Len64(uint64(n)) - 1)
	if half := power + power/2; half <= n {
		return half
	}
	return power
}
