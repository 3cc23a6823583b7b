package compiler

import "slices"

// breakCycles runs with the given number of slots and returns the threadblocks
// to split so that the program gets further.
//
// Splitting one threadblock of each cycle is usually enough: under the new
// order the program finishes, or meets one or two more cycles. But where rings
// cross at every rank of a grid, hundreds of cycles lie behind one another, and
// each would mean ordering the whole program again. So later attempts split
// more at once:
//
//	attempt 1 to 4   one threadblock of each cycle, as few as possible
//	        5 to 8   these run as if split; also one of each cycle met then, and so on
//	        9        all that have fused instructions of several chunks
func (e *execution) breakCycles(slots int) (all []int32) {
	prog := e.prog
	if prog.cycleBreaks++; prog.cycleBreaks > lookaheadAttempts {
		return prog.fusedMultiChunk()
	}
	e.finish(slots)
	all = e.cycleVictims()
	if prog.cycleBreaks <= oneVictimAttempts {
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

// The last attempt that splits only the first cycles met, and the last that
// looks ahead to further ones.
var (
	oneVictimAttempts = 4
	lookaheadAttempts = 8
)

// fusedMultiChunk lists the threadblocks with fused instructions of several chunks.
func (prog *program) fusedMultiChunk() (all []int32) {
	for t := range prog.tbs {
		if slices.ContainsFunc(prog.tbs[t].steps, func(i int32) bool { return prog.ins[i].fused != none && prog.ins[i].count > 1 }) {
			all = append(all, int32(t))
		}
	}
	return all
}

// halve lets a threadblock run as if it were split: one half receives, and the
// other sends when there is room.
func (e *execution) halve(t int32) {
	if e.halved == nil {
		e.halved, e.pending = make([]bool, len(e.at)), make([]int64, len(e.at))
	}
	e.halved[t] = true
	if e.stop[t] == forSlot {
		e.wake(t, forSlot)
	}
}

// slotFreed resumes threadblock t after a slot of the connection it sends on
// has become free.
func (e *execution) slotFreed(t int32) {
	if e.halved != nil && e.halved[t] {
		e.sendPending(t)
		return
	}
	e.wake(t, forSlot)
}

// sendPending sends the calls that t has received but not yet sent, as slots
// permit.
func (e *execution) sendPending(t int32) {
	to := e.prog.tbs[t].put
	if n := min(e.pending[t], e.slots-(e.sent[to]-e.taken[to])); n > 0 {
		e.pending[t] -= n
		e.sent[to] += n
		e.wake(e.getTB[to], forMessage)
	}
}

// cycleVictims returns the threadblocks to split: in each cycle, the one with
// the fewest fused instructions among those that are needed at one connection
// while blocked at the other.
func (e *execution) cycleVictims() []int32 {
	prog := e.prog
	var all []int32
	seen := make([]int32, len(prog.tbs)) // by threadblock: 1 + the start of the walk that visited it
	for first := range prog.tbs {
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
			if n := e.fusedCount(x); n > 0 && e.neededAtSend(w) != e.stoppedAtSend(x) && (best == none || n < fewest || n == fewest && prog.tbs[x].put < prog.tbs[best].put) {
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

// fusedCount returns the number of fused instructions of a threadblock, or 0 if
// it is halved.
func (e *execution) fusedCount(tb int32) (n int) {
	if e.halved != nil && e.halved[tb] {
		return 0
	}
	for _, i := range e.prog.tbs[tb].steps {
		if e.prog.ins[i].fused != none {
			n++
		}
	}
	return n
}

// blocker returns the threadblock that a stopped threadblock waits for.
func (e *execution) blocker(t int32) int32 {
	switch e.stop[t] {
	case forMessage:
		return e.putTB[e.prog.tbs[t].get]
	case forSlot:
		return e.getTB[e.prog.tbs[t].put]
	}
	return e.waitsOf(e.currentStep(t))[e.waitsMet[t]].tb
}

// stoppedAtSend reports whether a threadblock is stopped at the connection it
// sends on, rather than the one it receives from.
func (e *execution) stoppedAtSend(t int32) (sending bool) {
	switch e.stop[t] {
	case forMessage:
		return false
	case forSlot:
		return true
	}
	return e.steps[e.currentStep(t)].get == none
}

// neededAtSend reports whether w waits for something at the connection its
// blocker sends on, rather than the one it receives from.
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
