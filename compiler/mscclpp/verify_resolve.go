package mscclpp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// resolve lays out the program of a threadblock.
func (m *machine) resolve(t int) {
	tb := &m.tbs[t]
	plan := &m.p.GPUs[tb.gpu].Threadblocks[tb.id]
	n := 0
	plan.each(func(int, *Op) { n++ })
	tb.code = make([]instr, 0, n)
	at := 0
	for i := range plan.Ops {
		op := &plan.Ops[i]
		if op.Kind.effect != pipelines {
			tb.code = append(tb.code, m.instr(t, op, at, 0))
			m.count(t, &tb.code[len(tb.code)-1], 1)
			at++
			continue
		}
		head := len(tb.code)
		step := op.Unit / m.size.bytes * m.size.unit
		passes := (op.Chunks*m.size.cells + step - 1) / step
		tb.code = append(tb.code, instr{op: op, at: at, passes: passes, step: step})
		at++
		for j := range op.Ops {
			tb.code = append(tb.code, m.instr(t, &op.Ops[j], at, step))
			m.count(t, &tb.code[len(tb.code)-1], passes)
			at++
		}
		tb.code[head].end = len(tb.code)
	}
}

// instr resolves an operation's counters and places.
func (m *machine) instr(t int, op *Op, at, step int) instr {
	tb := &m.tbs[t]
	g, plan := tb.gpu, &m.p.GPUs[tb.gpu].Threadblocks[tb.id]
	in := instr{op: op, at: at, step: step}
	k := op.Kind
	channel := func(i int) end { return end{op.Type, plan.channels[op.Type][op.Channels[i]]} }
	switch k.effect {
	case waits:
		for i := range op.Channels {
			in.lanes = append(in.lanes, m.waitCounter[g][channel(i)])
		}
	case signals:
		for i := range op.Channels {
			in.lanes = append(in.lanes, m.signalCounter[g][channel(i)])
		}
	case acquires, releases:
		for _, s := range op.Semaphores {
			in.lanes = append(in.lanes, m.firstSemaphore[g]+s)
		}
	case meets:
		in.barrier = [2]int{g, op.Barrier}
	}
	if op.Type == Port && (k.effect == signals || k.effect == flushes || k.moving()) {
		for i := range op.Channels {
			in.engines = append(in.engines, m.engine(m.signalCounter[g][channel(i)]))
		}
	}
	if k.Name == "pws" || k.Name == "pwsf" {
		for i := range op.Channels {
			in.lanes = append(in.lanes, m.signalCounter[g][channel(i)])
		}
	}
	if k.moving() {
		in.cells = op.moved() * m.size.cells / op.Slices
		for i := range op.Src {
			in.src = append(in.src, m.region(t, op, &op.Src[i], op.source(i)))
		}
		for i := range op.Dst {
			in.dst = append(in.dst, m.region(t, op, &op.Dst[i], op.target(i)))
		}
	}
	return in
}

// engine returns the clock of the proxy that copies for a port channel, which is
// identified by the counter it signals.
func (m *machine) engine(counter int) int {
	if _, ok := m.engines[counter]; !ok {
		m.engines[counter] = len(m.tbs) + len(m.engines)
	}
	return m.engines[counter]
}

// moved returns the number of chunks that an operation moves, as the runtime
// computes it.
func (o *Op) moved() int {
	if o.Kind.effect == pairs && o.Kind.Name != "get" && o.Kind.Name != "ppkt" {
		return o.Dst[0].Size
	}
	return o.Src[0].Size
}

// region resolves a place to cells.
func (m *machine) region(t int, op *Op, ref *Ref, letter byte) region {
	tb := &m.tbs[t]
	buffer, ranks := m.p.place(tb.gpu, tb.id, op, ref)
	r := region{ranks: ranks, packets: packet(letter), scratch: buffer == collective.Scratch, user: buffer != collective.Scratch}
	for _, rank := range ranks {
		per := m.size.cells
		if r.scratch {
			per = m.scratchCells()
		}
		first := ref.Index*per + op.Slice*(ref.Size*m.size.cells/op.Slices)
		b := buffer
		if r.scratch {
			if r.packets {
				first *= m.double
			}
		} else {
			b, first = m.col.Place(rank, buffer, first)
		}
		r.first = append(r.first, m.memory.At(rank, b, first))
	}
	return r
}

// place returns the buffer that a ref is in, and its ranks.
func (p *Plan) place(g, t int, op *Op, ref *Ref) (collective.Buffer, []int) {
	gpu := &p.GPUs[g]
	tb := &gpu.Threadblocks[t]
	switch ref.Place {
	case Remote:
		b := &gpu.RemoteBuffers[tb.buffers[op.Type][ref.ID]]
		return b.Buffer, []int{b.Rank}
	case OnSwitch:
		s := gpu.switches[tb.channels[Switch][ref.ID]]
		return s.buffer, s.group.Ranks
	}
	return ref.Buffer, []int{g}
}

// count adds up how often an instruction posts to counters and takes from them in
// one launch.
func (m *machine) count(t int, in *instr, times int) {
	for _, c := range in.lanes {
		of := &m.counters[c].posts
		if d := in.op.Kind.effect; d == waits || d == acquires {
			of = &m.counters[c].takes
		}
		(*of)[t] += times
	}
	if in.op.Kind.effect == meets {
		has := m.barriers[in.barrier]
		if len(has) == 0 || has[len(has)-1] != t {
			m.barriers[in.barrier] = append(has, t)
		}
	}
}

// checkCounter reports a counter that does not end with its initial value. The
// next launch begins with the values that this one leaves.
func (m *machine) checkCounter(c *counter) {
	posted, taken := 0, 0
	for _, n := range c.posts {
		posted += n
	}
	for _, n := range c.takes {
		taken += n
	}
	c.posters, c.takers = slices.Sorted(maps.Keys(c.posts)), slices.Sorted(maps.Keys(c.takes))
	switch {
	case posted > taken && !c.semaphore:
		m.fail(verify.Race, -1, -1, -1, "%s: %d signals for %d waits; what is left over meets the next launch's", c.name, posted, taken)
	case posted > taken:
		m.warn(-1, -1, -1, "%s: released %d times and acquired %d: it guards less with each launch", c.name, posted, taken)
	case taken > posted && c.initial >= taken-posted:
		m.fail(verify.Deadlock, -1, -1, -1, "%s: acquired %d times and released %d: a later launch waits for ever", c.name, taken, posted)
	}
	if len(c.posters) > 1 || len(c.takers) > 1 {
		m.unknownOrder = append(m.unknownOrder, fmt.Sprintf("%s: posted to by %d threadblocks and taken from by %d", c.name, len(c.posters), len(c.takers)))
	}
}

// unknownOrderReasons lists the first few reasons why orders can't be known.
func (m *machine) unknownOrderReasons() string {
	const shown = 3
	if n := len(m.unknownOrder); n > shown {
		return strings.Join(m.unknownOrder[:shown], "; ") + fmt.Sprintf("; and %d more", n-shown)
	}
	return strings.Join(m.unknownOrder, "; ")
}
