package compiler

import "math/bits"

// readySet is a set of small numbers from which the least is taken first. It is a
// row of bits, above which a bit for each 64 says whether any of them is set, and
// so on up to a single word:
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

// push adds a number to the set.
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

// pop removes and returns the least number, if there is one.
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
