package compiler

import "math/bits"

// readySet is a set of instructions of which the one with the least priority
// number is taken first. Priorities are a numbering, so that the set is a row of
// bits; over each 64 of them stands a bit that says whether any is set, and so on
// up to a single word:
//
//	levels[1]   0 1 …                 one bit a word below
//	levels[0]   0000… 0010…           one bit an instruction, by priority
type readySet struct {
	prio   []int32 // by instruction
	of     []int32 // by priority: the instruction
	levels [][]uint64
}

func newReadySet(prio []int32) *readySet {
	s := &readySet{prio: prio, of: make([]int32, len(prio))}
	for i, p := range prio {
		s.of[p] = int32(i)
	}
	for n := len(prio); len(s.levels) == 0 || n > 1; {
		n = (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, max(n, 1)))
	}
	return s
}

// push puts i into the set, where it may be already.
func (s *readySet) push(i int32) {
	p := s.prio[i]
	for _, words := range s.levels {
		word := &words[p/64]
		if *word != 0 {
			*word |= 1 << (p % 64)
			return
		}
		*word = 1 << (p % 64)
		p /= 64
	}
}

// pop takes the first out, if there is any.
func (s *readySet) pop() (int32, bool) {
	p := int32(0)
	for l := len(s.levels) - 1; l >= 0; l-- {
		word := s.levels[l][p]
		if word == 0 {
			return none, false
		}
		p = 64*p + int32(bits.TrailingZeros64(word))
	}
	for at, l := p, 0; l < len(s.levels); l++ {
		word := &s.levels[l][at/64]
		*word &^= 1 << (at % 64)
		if *word != 0 {
			break
		}
		at /= 64
	}
	return s.of[p], true
}
