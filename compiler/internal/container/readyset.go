package container

import "math/bits"

// ReadySet is a priority queue of small distinct numbers, least first. It is a
// hierarchical bitmap: each bit of a level is set if any of 64 bits below it is
// set.
//
//	levels[1]   0 1 …                 one bit for each word of levels[0]
//	levels[0]   0000… 0010…           one bit for each number
type ReadySet struct{ levels [][]uint64 }

// NewReadySet returns an empty set for numbers from 0 to n-1.
func NewReadySet(n int) *ReadySet {
	s := &ReadySet{}
	for len(s.levels) == 0 || n > 1 {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
	}
	return s
}

// Push adds a number to the set.
func (s *ReadySet) Push(i int32) {
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

// Pop removes and returns the least number. It reports false if the set is
// empty.
func (s *ReadySet) Pop() (int32, bool) {
	i := int32(0)
	for l := len(s.levels) - 1; l >= 0; l-- {
		word := s.levels[l][i]
		if word == 0 {
			return -1, false
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
