package mscclpp

import (
	"fmt"
)

// run executes a machine. Each threadblock proceeds until it has to wait, and
// is woken when the event it waits for has happened. Accesses to memory are
// reported to the orderTracker.
type run struct {
	m     *machine
	watch *orderTracker
	tbs   []state
	ready []int

	value   []int            // of counters
	waiting map[int][]int    // by key: the threadblocks that wait for it
	barrier map[[2]int][]int // by GPU and barrier: the threadblocks that have reached it
	packets []bool           // by cell: it holds a packet of this launch
}

// state is the progress of a threadblock.
type state struct {
	pc, pass int
	loop     int // the pipeline it is in, or -1
	lane     int // lanes of its current instruction that are done
	arrived  bool
	why      string // what it waits for, in words
	key      int    // what it waits for: see cellKey
	blocked  bool
}

func newRun(m *machine) *run {
	r := &run{m: m, watch: newWatch(m), tbs: make([]state, len(m.tbs)),
		waiting: map[int][]int{}, barrier: map[[2]int][]int{},
		packets: make([]bool, len(m.memory.Cells()))}
	for _, c := range m.counters {
		r.value = append(r.value, c.initial)
	}
	for t := len(r.tbs) - 1; t >= 0; t-- {
		r.tbs[t].loop = -1
		r.ready = append(r.ready, t)
	}
	return r
}

// Keys of what can be waited for: a counter is its number; cells and barriers have
// negative keys.
func cellKey(cell int) int { return -1 - 2*cell }

func barrierKey(gpu, id int) int { return -2 - 2*(gpu<<31+id) }

// finish runs the plan, and reports whether all threadblocks finished.
func (r *run) finish() bool {
	for len(r.ready) > 0 && r.m.r.OK() {
		t := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		r.tbs[t].blocked = false
		for !r.tbs[t].blocked && r.m.r.OK() && r.step(t) {
			r.watch.work += stepWork
			r.watch.checkWork()
		}
	}
	if !r.m.r.OK() {
		return false
	}
	for t := range r.tbs {
		if r.tbs[t].blocked {
			r.reportCycle(t)
			return false
		}
	}
	r.watch.checkEnd()
	return true
}

// step executes the next instruction of a threadblock, or blocks. It returns false
// at the end.
func (r *run) step(t int) bool {
	s, code := &r.tbs[t], r.m.tbs[t].code
	if s.loop >= 0 && s.pc == code[s.loop].end {
		if s.pass++; s.pass < code[s.loop].passes {
			s.pc = s.loop + 1
		} else {
			s.loop, s.pass = -1, 0
		}
		if s.loop >= 0 && s.pc == code[s.loop].end {
			// An empty pipeline.
			s.loop, s.pass = -1, 0
		}
	}
	if s.pc == len(code) {
		return false
	}
	in := &code[s.pc]
	switch in.op.Kind.effect {
	case pipelines:
		s.loop, s.pass = s.pc, 0
		s.pc++
		return true
	case syncs:
		r.watch.sync(t)
	case meets:
		if !r.meet(t, in) {
			return true
		}
	case waits, acquires:
		for ; s.lane < len(in.lanes); s.lane++ {
			c := in.lanes[s.lane]
			if r.value[c] <= 0 {
				r.block(t, c, r.m.counters[c].name)
				return true
			}
			r.value[c]--
			r.watch.take(t, s.lane, c, in)
		}
	case signals, releases:
		for lane, c := range in.lanes {
			r.post(t, lane, c, in)
		}
	case flushes:
		for lane, e := range in.engines {
			r.watch.flush(t, lane, e)
		}
	case pairs, moves:
		if !r.move(t, in) {
			return true
		}
	}
	s.pc, s.lane, s.arrived = s.pc+1, 0, false
	return true
}

// post adds to a counter and wakes whatever waits for it.
func (r *run) post(t, lane, c int, in *instr) {
	r.value[c]++
	r.watch.post(t, lane, c, in)
	r.wake(c)
}

func (r *run) block(t, key int, why string) {
	s := &r.tbs[t]
	s.blocked, s.key, s.why = true, key, why
	r.waiting[key] = append(r.waiting[key], t)
}

func (r *run) wake(key int) {
	if w := r.waiting[key]; len(w) > 0 {
		r.ready = append(r.ready, w...)
		delete(r.waiting, key)
	}
}

// meet reaches a barrier. It returns false until all have.
func (r *run) meet(t int, in *instr) bool {
	s := &r.tbs[t]
	if in.op.Members == 1 {
		r.watch.sync(t)
		return true
	}
	if s.arrived {
		return true
	}
	s.arrived = true
	r.watch.sync(t)
	here := append(r.barrier[in.barrier], t)
	key := barrierKey(in.barrier[0], in.barrier[1])
	if len(here) < in.op.Members {
		r.barrier[in.barrier] = here
		r.block(t, key, fmt.Sprintf("barrier %d", in.barrier[1]))
		return false
	}
	r.watch.mergeAtBarrier(here)
	delete(r.barrier, in.barrier)
	r.wake(key)
	return true
}
