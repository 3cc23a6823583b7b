package compiler

import "slices"

// untangle runs with the given number of slots, and returns the threadblocks to
// split so that the program gets further.
//
// Splitting one threadblock of each circle that blocks the program is usually
// enough: with the order made anew, the program finishes, or meets one or two more
// circles. But where rings cross at every rank of a grid, hundreds of circles lie
// behind one another, and each would mean ordering the whole program again. So the
// later the attempt, the more is split at once:
//
//	times 1 to 4   of each circle one threadblock, as few as can be
//	      5 to 8   those go on as if they were two, and the circles met then, and so on
//	      9        all that are fused and have messages of several chunks
func (e *execution) breakCycles(slots int) (all []int32) {
	u := e.u
	if u.cycleBreaks++; u.cycleBreaks > lookaheadAttempts {
		return u.fusedMultiChunk()
	}
	e.finish(slots)
	all = e.cycleVictims()
	if u.cycleBreaks <= oneVictimAttempts {
		return all
	}
	for more := all; len(more) > 0; {
		for _, t := range more {
			e.halve(t)
		}
		e.finish(slots)
		more = e.cycleVictims()
		all = append(all, more...)
	}
	return all
}

// Up to which attempt untangle splits only what it meets first, and up to which it
// looks ahead.
var (
	oneVictimAttempts = 4
	lookaheadAttempts = 8
)

// fusedAndLong lists the threadblocks with fused instructions of several chunks.
func (u *program) fusedMultiChunk() (all []int32) {
	for t := range u.tbs {
		if slices.ContainsFunc(u.tbs[t].steps, func(i int32) bool { return u.ins[i].fused != none && u.ins[i].count > 1 }) {
			all = append(all, int32(t))
		}
	}
	return all
}

// part lets a threadblock run as two: one receives, and the other sends on when
// there is room.
func (e *execution) halve(t int32) {
	if e.halved == nil {
		e.halved, e.pending = make([]bool, len(e.at)), make([]int64, len(e.at))
	}
	e.halved[t] = true
	if e.stop[t] == forSlot {
		e.wake(t, forSlot)
	}
}

// asTwo is communicate for a threadblock that runs as two.
func (e *execution) communicateHalved(t int32, s *execStep) (why stop) {
	left := 1 - e.calls[t]
	if e.perChunk {
		left = int64(s.count) - e.calls[t]
	}
	if s.get != none {
		if there := e.sent[s.get] - e.taken[s.get]; there < left {
			left, why = there, forMessage
		}
	}
	if left > 0 {
		e.calls[t] += left
		if s.get != none {
			e.taken[s.get] += left
			e.slotFreed(e.putTB[s.get])
		}
		if s.put != none {
			e.pending[t] += left
			e.sendPending(t)
		}
	}
	return why
}

// freed tells t, which sends on a connection, that there is room on it.
func (e *execution) slotFreed(t int32) {
	if e.halved != nil && e.halved[t] {
		e.sendPending(t)
		return
	}
	e.wake(t, forSlot)
}

// sendOn sends what was received but not sent on, as far as there is room.
func (e *execution) sendPending(t int32) {
	to := e.u.tbs[t].put
	if n := min(e.pending[t], e.slots-(e.sent[to]-e.taken[to])); n > 0 {
		e.pending[t] -= n
		e.sent[to] += n
		e.wake(e.getTB[to], forMessage)
	}
}

// crossed returns the threadblocks to split: in each circle, among those that are
// needed at one connection while blocked at the other, the one with the fewest
// fused instructions.
func (e *execution) cycleVictims() []int32 {
	u := e.u
	var all []int32
	seen := make([]int32, len(u.tbs)) // by threadblock: 1 + the start of the walk that visited it
	for first := range u.tbs {
		t := int32(first)
		for e.stop[t] != ended && seen[t] == 0 {
			seen[t] = int32(first) + 1
			t = e.blocker(t)
		}
		if e.stop[t] == ended || seen[t] != int32(first)+1 {
			continue // an earlier walk went on from here
		}
		best, fewest := int32(none), 0
		for w, from := t, true; from || w != t; from = false {
			x := e.blocker(w)
			if n := e.fusedCount(x); n > 0 && e.neededAtSend(w) != e.stoppedAtSend(x) && (best == none || n < fewest || n == fewest && u.canonicalID(x) < u.canonicalID(best)) {
				best, fewest = x, n
			}
			w = x
		}
		if best != none {
			all = append(all, best)
		}
	}
	return all
}

// fusedIn is how many instructions of a threadblock are fused, or 0 once it runs
// as two.
func (e *execution) fusedCount(tb int32) (n int) {
	if e.halved != nil && e.halved[tb] {
		return 0
	}
	for _, i := range e.u.tbs[tb].steps {
		if e.u.ins[i].fused != none {
			n++
		}
	}
	return n
}

// blocker is the threadblock that a stopped threadblock waits for.
func (e *execution) blocker(t int32) int32 {
	switch e.stop[t] {
	case forMessage:
		return e.putTB[e.u.tbs[t].get]
	case forSlot:
		return e.getTB[e.u.tbs[t].put]
	}
	return e.waitsOf(e.currentStep(t))[e.waitsMet[t]].tb
}

// side tells whether a threadblock is stopped at the connection it sends on, rather
// than the one it receives from.
func (e *execution) stoppedAtSend(t int32) (sending bool) {
	switch e.stop[t] {
	case forMessage:
		return false
	case forSlot:
		return true
	}
	return e.steps[e.currentStep(t)].get == none
}

// need tells whether what w waits for lies at the connection its blocker sends on,
// rather than the one it receives from.
func (e *execution) neededAtSend(w int32) (sending bool) {
	switch e.stop[w] {
	case forMessage:
		return true
	case forSlot:
		return false
	}
	p := e.waitsOf(e.currentStep(w))[e.waitsMet[w]]
	return e.steps[e.first[p.tb]+p.step].get == none
}
