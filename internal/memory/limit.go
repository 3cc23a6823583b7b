package memory

import "math/bits"

// unknown is the limit, in bytes, where the machine's memory is not known.
const unknown = 6 << 30

// Default returns the default limit of a command in bytes: three quarters of Machine,
// rounded down to a power of two or one and a half times one, so that machines of one
// kind have the same.
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
