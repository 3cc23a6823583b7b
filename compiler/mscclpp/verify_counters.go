package mscclpp

import "github.com/colltune/colltune/compiler/verify"

// checkTakeOrder records that a lane takes from a counter. If two lanes do so
// within a phase, either may come first, which matters only if the threadblock
// does something else in that phase.
func (w *orderTracker) checkTakeOrder(t, lane, c int, in *instr) {
	s := &w.tbs[t]
	if was, ok := s.taken[c]; ok && was != lane {
		s.unsure = c
		if s.acted {
			w.recordAction(t, in)
		}
	}
	if s.taken == nil {
		s.taken = map[int]int{}
	}
	s.taken[c] = lane
}

// recordAction records that a threadblock does something that others may wait
// for.
func (w *orderTracker) recordAction(t int, in *instr) {
	s, m := &w.tbs[t], w.m
	s.acted = s.acted || len(s.taken) > 0
	if s.unsure != nobody {
		m.fail(verify.Race, m.tbs[t].gpu, m.tbs[t].id, in.at, "%s: two of its threads take from %s since they were last brought together, and either may be the first", in.op.Kind.Name, m.counters[s.unsure].name)
	}
}
