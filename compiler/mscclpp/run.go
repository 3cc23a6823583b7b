package mscclpp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/verify"
)

// run executes a machine. Each threadblock proceeds until it has to wait, and is
// woken when what it waits for has happened. Accesses to memory are reported to
// watch.
type run struct {
	m     *machine
	watch *watch
	tbs   []state
	ready []int

	value   []int         // of counters
	waiting map[int][]int // by key: the threadblocks that wait for it
	barrier map[[2]int]*gathering
	packets []bool // by cell: it holds a packet of this launch
}

// state is how far a threadblock has got.
type state struct {
	pc, pass int
	loop     int // the pipeline it is in, or -1
	lane     int // lanes of its current instruction that are done
	arrived  bool
	why      string // what it waits for, in words
	key      int    // what it waits for: see cellKey
	blocked  bool
}

// gathering is the threadblocks that have reached a barrier.
type gathering struct{ here []int }

func newRun(m *machine) *run {
	r := &run{m: m, watch: newWatch(m), tbs: make([]state, len(m.tbs)),
		waiting: map[int][]int{}, barrier: map[[2]int]*gathering{},
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

// finish runs the plan, and tells whether all threadblocks finished.
func (r *run) finish() bool {
	for len(r.ready) > 0 && r.m.r.OK() {
		t := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		r.tbs[t].blocked = false
		for !r.tbs[t].blocked && r.m.r.OK() && r.step(t) {
			r.watch.work += stepWork
			r.watch.affordable()
		}
	}
	if !r.m.r.OK() {
		return false
	}
	for t := range r.tbs {
		if r.tbs[t].blocked {
			r.circle(t)
			return false
		}
	}
	r.watch.end()
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
	switch in.op.Kind.does {
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
	g := r.barrier[in.barrier]
	if g == nil {
		g = &gathering{}
		r.barrier[in.barrier] = g
	}
	s.arrived = true
	r.watch.sync(t)
	g.here = append(g.here, t)
	key := barrierKey(in.barrier[0], in.barrier[1])
	if len(g.here) < in.op.Members {
		r.block(t, key, fmt.Sprintf("barrier %d", in.barrier[1]))
		return false
	}
	r.watch.gather(g.here)
	delete(r.barrier, in.barrier)
	r.wake(key)
	return true
}

// move does one pass of an instruction that moves data. It returns false if
// packets that it reads have not arrived.
func (r *run) move(t int, in *instr) bool {
	s, m := &r.tbs[t], r.m
	from, n := 0, in.cells
	// The runtime does not divide packets: every pass moves all of them.
	if s.loop >= 0 && !in.packets() {
		from = s.pass * in.step
		if from > in.cells {
			m.fail(verify.Malformed, m.tbs[t].gpu, m.tbs[t].id, in.at, "%s: pass %d of its pipeline begins behind its place", in.op.Kind.Name, s.pass)
			return true
		}
		n = min(in.step, in.cells-from)
	}
	if n == 0 {
		return true
	}
	// A port copies without looking at packets' flags; only rppkt waits for the
	// packets before handing them over.
	port := in.op.Type == Port
	if !port || in.op.Kind.does == moves {
		for i := range in.src {
			if !in.src[i].packets {
				continue
			}
			for j := range n {
				if c := r.cell(&in.src[i], 0, from, j); !r.packets[c] {
					rank, b, at := m.memory.Where(c)
					r.block(t, cellKey(c), fmt.Sprintf("a packet in %s[%d] of gpu %d", b, at/m.double/m.scratchCells(), rank))
					return false
				}
			}
		}
	}
	who := r.watch.begin(t, in, n*in.touches())
	if in.op.Kind.does == pairs {
		for i := range in.src {
			if port {
				who = r.watch.hand(t, i, in)
			}
			r.transfer(t, who, in, in.src[i:i+1], in.dst[i:i+1], from, n, i*in.cells)
			if port && len(in.lanes) > 0 {
				r.post(t, i, in.lanes[i], in)
				if in.op.Kind.Name == "pwsf" {
					r.watch.flush(t, i, in.engines[i])
				}
			}
		}
		return true
	}
	if !port {
		r.transfer(t, who, in, in.src, in.dst, from, n, 0)
		return true
	}
	r.watch.looked(who, r.elements(in.src, from, n))
	r.watch.sync(t)
	for i := range in.dst {
		r.transfer(t, r.watch.hand(t, i, in), in, in.src, in.dst[i:i+1], from, n, i*in.cells)
	}
	return true
}

// touches is how many cells an instruction reads and writes for each cell it
// moves.
func (in *instr) touches() int {
	n := 0
	for _, regions := range [...][]region{in.src, in.dst} {
		for i := range regions {
			n += len(regions[i].first)
		}
	}
	return n
}

// cell is element j of the pass of a region that begins at from, in the memory of
// one of its ranks.
func (r *run) cell(g *region, rank, from, j int) int {
	at := from
	if g.scratch && r.m.size.wrap > 0 {
		at %= r.m.size.wrap
	}
	at += j
	if g.packets {
		at *= 2
	}
	return g.first[rank] + at
}

func (r *run) elements(src []region, from, n int) (cells []int) {
	for i := range src {
		for j := range n {
			cells = append(cells, r.cell(&src[i], 0, from, j))
		}
	}
	return cells
}

// transfer reads the sources, adds them up, and writes the sum to every
// destination.
func (r *run) transfer(t, who int, in *instr, src, dst []region, from, n, element int) {
	m := r.m
	cells := m.memory.Cells()
	for j := range n {
		var v verify.Value
		first := true
		for i := range src {
			for k := range src[i].first {
				c := r.cell(&src[i], k, from, j)
				if src[i].scratch && !r.fit(t, in, &src[i], k, c) {
					return
				}
				r.watch.read(who, element+j, c, src[i].first[k], &src[i], src[i].ranks[k])
				x := cells[c]
				if src[i].packets != r.packets[c] {
					x = verify.Garbage
				}
				if first {
					v, first = x, false
				} else {
					v = m.memory.Add(v, x)
				}
			}
		}
		for i := range dst {
			for k := range dst[i].first {
				c := r.cell(&dst[i], k, from, j)
				if dst[i].scratch && !r.fit(t, in, &dst[i], k, c) {
					return
				}
				r.watch.write(who, element+j, c, dst[i].first[k], &dst[i], dst[i].ranks[k])
				cells[c], r.packets[c] = v, dst[i].packets
				if dst[i].packets {
					cells[c+1], r.packets[c+1] = v, true
					r.watch.write(who, element+j, c+1, dst[i].first[k], &dst[i], dst[i].ranks[k])
					r.wake(cellKey(c))
				}
			}
		}
	}
}

// fit checks that a cell lies within its rank's scratch, which can be too small
// for a place where it is used in turns.
func (r *run) fit(t int, in *instr, g *region, k, c int) bool {
	if r.m.size.wrap == 0 {
		return true
	}
	if c+r.m.double <= len(r.m.memory.Cells()) {
		if rank, _, _ := r.m.memory.Where(c); rank == g.ranks[k] {
			return true
		}
	}
	r.m.fail(verify.Malformed, r.m.tbs[t].gpu, r.m.tbs[t].id, in.at, "%s: its place goes beyond scratch once that is used over and over", in.op.Kind.Name)
	return false
}

// circle reports who waits for whom, beginning with t, until a threadblock occurs
// again or there is nobody to wait for.
func (r *run) circle(t int) {
	const most = 12
	var b strings.Builder
	seen := map[int]bool{}
	first := t
	for n := 0; ; n++ {
		s, tb := &r.tbs[t], &r.m.tbs[t]
		if n > 0 {
			b.WriteString("; ")
		}
		if n == most {
			b.WriteString("and so on")
			break
		}
		seen[t] = true
		in := &tb.code[s.pc]
		fmt.Fprintf(&b, "gpu %d threadblock %d op %d (%s) waits for %s", tb.gpu, tb.id, in.at, in.op.Kind.Name, s.why)
		next := r.helper(t)
		if next < 0 {
			b.WriteString(", and nobody is left to bring it")
			break
		}
		if t = next; seen[t] {
			fmt.Fprintf(&b, "; which gpu %d threadblock %d would bring", r.m.tbs[t].gpu, r.m.tbs[t].id)
			break
		}
	}
	in := &r.m.tbs[first].code[r.tbs[first].pc]
	r.m.fail(verify.Deadlock, r.m.tbs[first].gpu, r.m.tbs[first].id, in.at, "%s", b.String())
}

// helper is a blocked threadblock that could still bring what t waits for, or -1.
func (r *run) helper(t int) int {
	key := r.tbs[t].key
	able := func(u int) bool { return u != t && r.tbs[u].blocked }
	if key >= 0 {
		for _, u := range r.m.counters[key].posters {
			if able(u) {
				return u
			}
		}
		return -1
	}
	if in := &r.m.tbs[t].code[r.tbs[t].pc]; in.op.Kind.does == meets {
		for _, u := range r.m.barriers[in.barrier] {
			if able(u) && !slices.Contains(r.barrier[in.barrier].here, u) {
				return u
			}
		}
		return -1
	}
	cell := (-1 - key) / 2
	for u := range r.tbs {
		if !able(u) {
			continue
		}
		code := r.m.tbs[u].code
		for pc := r.tbs[u].pc; pc < len(code); pc++ {
			for i := range code[pc].dst {
				g := &code[pc].dst[i]
				for _, first := range g.first {
					if g.packets && cell >= first && cell < first+2*code[pc].cells {
						return u
					}
				}
			}
		}
	}
	return -1
}
