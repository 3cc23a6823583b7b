package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/internal/container"
)

// slots counts the slots that every connection needs, so that the program completes
// however a runtime divides its steps into calls. Where they do not suffice, the driver
// relaxes the program and makes the schedule again (compile.go).
//
// A step of c chunks is one call if a slot has room for c chunks, and c calls if
// it has room for one; every call occupies a slot. The order was made for the
// first case (see slotsOf). In the second, threadblocks that all send before they
// receive block one another:
//
//	rank 0: s in[0:4] → 1        two of four calls fit, and none is received:
//	        rrs in[4:8] ← 2 → 1  every rank is still sending
//	rank 1: s in[4:8] → 2 …
//
// So the pass also executes the program with a call for each chunk. One execution is
// enough: a threadblock's next step does not depend on timing, and a wait that has
// ended never begins again.
//
// Without this pass the program is fastest at sizes where a step is one call,
// but may need more slots than Simple has at large sizes.
func slots(prog *program) error {
	both := []*execution{newExecution(prog)}
	if prog.manyChunks() {
		both = append(both, both[0].clonePerChunk())
	}
	var need [2]int
	container.Ranges(len(both), len(prog.seq), func(from, to int) {
		for k := from; k < to; k++ {
			need[k] = both[k].finish(0)
		}
	})
	for _, e := range both {
		prog.pool.Give(e.waiter)
	}
	prog.slotsWhole, prog.slotsSplit = need[0], need[len(both)-1]
	return nil
}

// slotsSuffice reports whether the schedule runs to its end with the slots there are.
// It holds before pass slots has counted, and for an order made for a call for each
// chunk.
func (prog *program) slotsSuffice() bool {
	return prog.slotsSplit <= prog.opt.Slots || prog.callPerChunk || !prog.manyChunks()
}

// relax changes a program whose slots do not suffice, and discards its schedule.
//
// With a call for each chunk, the execution stops in cycles of waiting threadblocks.
// If one of them is needed at one of its connections while it is blocked at the
// other, the two connections are given to two threadblocks, by splitting its fused
// instructions (break_cycles.go). In a ring, splitting at one rank is enough.
//
// If there is nothing to split, the order will be made for a call for each chunk.
// That is always correct, but slower, because chains then begin one after another.
func (prog *program) relax() {
	e := newExecution(prog)
	e.restart(true)
	any := false
	for _, tb := range e.breakCycles(prog.opt.Slots) {
		for _, i := range prog.tbs[tb].steps {
			if prog.ins[i].fused != none {
				prog.split(i)
				any = true
			}
		}
	}
	prog.callPerChunk = !any
	prog.pool.Give(e.waiter, prog.depth, prog.height, prog.seq, prog.tbOf, prog.posOf, prog.waits.start, prog.waits.list)
	prog.depth, prog.height, prog.seq = nil, nil, nil
	prog.tbs, prog.gpuTBs, prog.tbOf, prog.posOf, prog.waits = nil, nil, nil, nil, csr{}
	prog.slotsWhole, prog.slotsSplit = 0, 0
}

// manyChunks reports whether any message has more than one chunk.
func (prog *program) manyChunks() bool {
	return slices.ContainsFunc(prog.msgs, func(m message) bool { return m.count > 1 })
}

// execution runs the program's waits and messages, without data. Every
// threadblock runs until it has to stop, and is woken when the event it waits
// for has happened.
type execution struct {
	prog         *program
	steps        []execStep // of all threadblocks, one after another
	first        []int32    // by threadblock: its first step; with one more entry at the end
	waits        []await    // of all steps, one after another
	perChunk     bool
	slots        int64
	putTB, getTB []int32 // by connection: the threadblock that sends on it, and the one that receives
	sent, taken  []int64 // by connection: calls so far
	at           []int32 // by threadblock: its current step
	calls        []int64 // by threadblock: calls made of the current step
	waitsMet     []int32 // by threadblock: waits of the current step that are over
	stop         []stop  // by threadblock
	waiter       []int32 // by step: the first threadblock that waits for it
	after        []int32 // by threadblock: the next one that waits for the same step
	ready        []int32
	full         []int32 // threadblocks that stopped for lack of a slot since slots were last added
	halved       []bool  // by threadblock: it runs as if it were split in two; nil if none does
	pending      []int64 // by halved threadblock: calls received but not yet sent
}

// execStep is a step in the form that execution needs.
type execStep struct {
	get, put int32 // connections, or none
	count    int32 // chunks
	waits    int32 // index in execution.waits of the end of its waits
}

// await identifies a step to wait for.
type await struct{ tb, step int32 }

// stop is the reason why a threadblock is stopped.
type stop uint8

const (
	notStopped stop = iota
	forStep         // another step of its rank has to be done first
	forMessage
	forSlot
	ended
)

// newExecution lays the steps out in the order in which they are visited, ready
// to run with one call for each step.
func newExecution(prog *program) *execution {
	n := len(prog.tbs)
	e := &execution{
		prog: prog, steps: make([]execStep, len(prog.seq)), waits: make([]await, len(prog.waits.list)), first: make([]int32, 1, n+1),
		putTB: make([]int32, len(prog.conns)), getTB: make([]int32, len(prog.conns)),
	}
	for t := range prog.tbs {
		tb := &prog.tbs[t]
		if tb.put != none {
			e.putTB[tb.put] = int32(t)
		}
		if tb.get != none {
			e.getTB[tb.get] = int32(t)
		}
		e.first = append(e.first, e.first[t]+int32(len(tb.steps)))
	}
	number := make([]int32, n+1) // of waits, by threadblock
	container.Ranges(n, len(prog.seq), func(from, to int) {
		for t := from; t < to; t++ {
			number[t+1] = e.layOutSteps(int32(t))
		}
	})
	for t := range n {
		number[t+1] += number[t]
	}
	container.Ranges(n, len(prog.seq), func(from, to int) {
		for t := from; t < to; t++ {
			e.layOutWaits(int32(t), number[t], number[t+1])
		}
	})
	e.allocate(false)
	return e
}

// clonePerChunk returns an execution of the same steps with one call for each
// chunk, which may run in parallel with this one.
func (e *execution) clonePerChunk() *execution {
	other := *e
	other.allocate(true)
	return &other
}

// allocate allocates the state of an execution whose steps are laid out.
func (e *execution) allocate(perChunk bool) {
	n, conns := len(e.prog.tbs), len(e.prog.conns)
	e.sent, e.taken = make([]int64, conns), make([]int64, conns)
	e.at, e.calls, e.waitsMet, e.stop = make([]int32, n), make([]int64, n), make([]int32, n), make([]stop, n)
	e.waiter, e.after, e.ready, e.full = e.prog.pool.Take(len(e.steps)), make([]int32, n), make([]int32, 0, n), nil
	e.restart(perChunk)
}

// layOutSteps lays out a threadblock's steps, and returns the number of their
// waits.
func (e *execution) layOutSteps(t int32) (waits int32) {
	prog, tb := e.prog, &e.prog.tbs[t]
	for n, i := range tb.steps {
		in := &prog.ins[i]
		s := execStep{get: none, put: none, count: in.count}
		if in.get != none {
			s.get = tb.get
		}
		if in.put != none {
			s.put = tb.put
		}
		waits += int32(len(prog.waits.row(i)))
		s.waits = waits
		e.steps[e.first[t]+int32(n)] = s
	}
	return waits
}

// layOutWaits lays out the waits of a threadblock's steps at indices from to
// to-1.
func (e *execution) layOutWaits(t, from, to int32) {
	prog, at := e.prog, from
	for n, i := range prog.tbs[t].steps {
		e.steps[e.first[t]+int32(n)].waits += from
		if at == to {
			continue
		}
		for _, p := range prog.waits.row(i) {
			e.waits[at] = await{prog.tbOf[p], prog.posOf[p]}
			at++
		}
	}
}

// restart resets the execution to its beginning, with one call for each chunk
// or for each step.
func (e *execution) restart(perChunk bool) {
	e.perChunk, e.slots = perChunk, 1
	clear(e.sent)
	clear(e.taken)
	clear(e.at)
	clear(e.calls)
	clear(e.waitsMet)
	clear(e.stop)
	fill(e.waiter, none)
	e.full, e.ready = e.full[:0], e.ready[:0]
	for t := len(e.at) - 1; t >= 0; t-- {
		e.ready = append(e.ready, int32(t))
	}
}

func (e *execution) waitsOf(n int32) []await {
	from := int32(0)
	if n > 0 {
		from = e.steps[n-1].waits
	}
	return e.waits[from:e.steps[n].waits]
}

func (e *execution) currentStep(t int32) int32 { return e.first[t] + e.at[t] }

// finish runs with as few slots as possible, but no more than most unless that
// is 0, and returns their number. If they do not suffice, the threadblocks stay
// where they stopped.
func (e *execution) finish(most int) (slots int) {
	for {
		for len(e.ready) > 0 {
			t := e.ready[len(e.ready)-1]
			e.ready = e.ready[:len(e.ready)-1]
			e.advance(t)
		}
		if e.slots == int64(most) {
			return most
		}
		// Only another slot can help: the order guarantees that nothing else is
		// missing.
		for _, t := range e.full {
			e.wake(t, forSlot)
		}
		if len(e.ready) == 0 {
			return int(e.slots)
		}
		e.full = e.full[:0]
		e.slots++
	}
}

// advance runs a threadblock until it has to stop.
func (e *execution) advance(t int32) {
	e.stop[t] = notStopped
	for n := e.currentStep(t); n < e.first[t+1]; n++ {
		for waits := e.waitsOf(n); int(e.waitsMet[t]) < len(waits); e.waitsMet[t]++ {
			if p := waits[e.waitsMet[t]]; e.at[p.tb] <= p.step {
				e.stop[t] = forStep
				at := e.first[p.tb] + p.step
				e.after[t], e.waiter[at] = e.waiter[at], t
				return
			}
		}
		if s := &e.steps[n]; s.get != none || s.put != none {
			if e.stop[t] = e.communicate(t, s); e.stop[t] != notStopped {
				return
			}
		}
		e.at[t]++
		e.calls[t], e.waitsMet[t] = 0, 0
		for w := e.waiter[n]; w != none; w = e.after[w] {
			e.ready = append(e.ready, w)
		}
		e.waiter[n] = none
	}
	e.stop[t] = ended
}

// communicate makes as many of a step's calls as are possible now. It returns
// the reason if some are left. A halved threadblock sends whenever there is room.
func (e *execution) communicate(t int32, s *execStep) (why stop) {
	halved := e.halved != nil && e.halved[t]
	left := 1 - e.calls[t]
	if e.perChunk {
		left = int64(s.count) - e.calls[t]
	}
	from, to := s.get, s.put
	if from != none {
		if there := e.sent[from] - e.taken[from]; there < left {
			left, why = there, forMessage
		}
	}
	if to != none && !halved {
		if free := e.slots - (e.sent[to] - e.taken[to]); free < left {
			left, why = free, forSlot
		}
	}
	if left > 0 {
		e.calls[t] += left
		if from != none {
			e.taken[from] += left
			e.slotFreed(e.putTB[from])
		}
		switch {
		case to == none:
		case halved:
			e.pending[t] += left
			e.sendPending(t)
		default:
			e.sent[to] += left
			e.wake(e.getTB[to], forMessage)
		}
	}
	if why == forSlot {
		e.full = append(e.full, t)
	}
	return why
}

// wake resumes a threadblock if it is stopped for the given reason.
func (e *execution) wake(t int32, why stop) {
	if e.stop[t] == why {
		e.stop[t] = notStopped
		e.ready = append(e.ready, t)
	}
}
