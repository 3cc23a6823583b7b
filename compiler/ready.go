package compiler

import "math/bits"

// readySet is a set of numbers below a limit of which the least is taken first: a row
// of bits; over each 64 of them stands a bit that says whether any is set, and so on
// up to a single word:
//
//	levels[1]   0 1 …                 one bit a word below
//	levels[0]   0000… 0010…           one bit a number
type readySet struct{ levels [][]uint64 }

func newReadySet(n int) *readySet {
	s := &readySet{}
	for len(s.levels) == 0 || n > 1 {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
	}
	return s
}

// push puts a number into the set, where it may be already.
func (s *readySet) push(i int32) {
	for _, words := range s.levels {
		word := &words[i/64]
		if *word != 0 {
			*word |= 1 << (i % 64)
			return
		}
		*word = 1 << (i % 64)
		i /= 64
	}
}

// pop takes the least out, if there is any.
func (s *readySet) pop() (int32, bool) {
	i := int32(0)
	for l := len(s.levels) - 1; l >= 0; l-- {
		word := s.levels[l][i]
		if word == 0 {
			return none, false
		}
		i = 64*i + int32(bits.TrailingZeros64(word))
	}
	for at, l := i, 0; l < len(s.levels); l++ {
		word := &s.levels[l][at/64]
		*word &^= 1 << (at % 64)
		if *word != 0 {
			break
		}
		at /= 64
	}
	return i, true
}
