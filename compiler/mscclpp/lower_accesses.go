package mscclpp

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// span is a run of chunks in one of a rank's buffers.
type span struct {
	rank   int
	buffer collective.Buffer
	index  int
	size   int
}

func (a span) overlaps(b span) bool {
	return a.rank == b.rank && a.buffer == b.buffer && a.index < b.index+b.size && b.index < a.index+a.size
}

func (g *graph) at(s int, l ir.Loc) span {
	return span{g.owner[g.tb[s]], l.Buf, int(l.Off), int(g.steps[s].Count)}
}

// access is a step that reads or writes a certain chunk of its own GPU.
type access struct {
	step   int
	writes bool
}

// accesses lists the steps that touch each chunk, by GPU, buffer and chunk.
type accesses [][3][][]access

// accesses lists the accesses to every chunk, in the graph's order.
func (g *graph) accesses(col collective.Collective) accesses {
	all := make(accesses, len(g.p.GPUs))
	for r := range all {
		all[r] = [3][][]access{
			collective.In:      make([][]access, col.BufferChunks(r, collective.In)),
			collective.Out:     make([][]access, col.BufferChunks(r, collective.Out)),
			collective.Scratch: make([][]access, g.p.GPUs[r].Scratch),
		}
	}
	for _, s := range g.order {
		g.places(s, func(at span, writes bool) {
			for i := at.index; i < at.index+at.size; i++ {
				list := &all[at.rank][at.buffer][i]
				*list = append(*list, access{s, writes})
			}
		})
	}
	return all
}

// history holds the last writer of every chunk and its readers since.
type history [][3][]last

type last struct {
	write int // none if nothing has written it yet
	reads []int
}

func (g *graph) history(all accesses) *history {
	h := make(history, len(all))
	for r := range all {
		for b := range all[r] {
			h[r][b] = make([]last, len(all[r][b]))
			for i := range h[r][b] {
				h[r][b][i].write = none
			}
		}
	}
	return &h
}

// conflicts calls f for the steps that step s must follow because of its access
// to a span, and records the access.
func (h *history) conflicts(at span, s int, writes bool, f func(before int)) {
	for i := at.index; i < at.index+at.size; i++ {
		c := &(*h)[at.rank][at.buffer][i]
		if c.write != none {
			f(c.write)
		}
		if !writes {
			c.reads = append(c.reads, s)
			continue
		}
		for _, r := range c.reads {
			f(r)
		}
		c.write, c.reads = s, c.reads[:0]
	}
}

// places calls f for every place that a step reads or writes.
func (g *graph) places(s int, f func(at span, writes bool)) {
	step := g.steps[s]
	if g.idle[s] {
		return
	}
	if x := g.sums[s]; x != nil {
		f(g.at(s, x.base), false)
		for _, t := range x.terms {
			if t.message == none || !g.packets {
				f(g.at(s, t.at), false)
			}
		}
		f(g.at(s, x.dst), true)
		return
	}
	if step.Op.ReadsSrc() {
		f(g.at(s, step.Src), false)
	}
	if step.Op.WritesDst() {
		f(g.at(s, step.Dst), true)
	}
}

// free reports whether data for step by may be written to a span as early as
// when step s begins: every other access to the span is complete by then, or
// comes after by. A port may read its source long after the step, but always
// before the message arrives.
func (g *graph) free(all accesses, at span, s, by int) bool {
	for i := at.index; i < at.index+at.size; i++ {
		for _, a := range all[at.rank][at.buffer][i] {
			if a.step == by || g.before(by, a.step) {
				continue
			}
			over := a.step
			for _, m := range g.sent[a.step] {
				if g.port(m) {
					over = g.msgs[m].recv
				}
			}
			if !g.before(over, s) {
				return false
			}
		}
	}
	return true
}

// overwrittenInFlight reports whether the source of message m may be
// overwritten while a port is still reading it.
func (g *graph) overwrittenInFlight(all accesses, m int, from span) bool {
	msg := &g.msgs[m]
	if from.buffer == collective.Scratch && from.index >= len(all[from.rank][from.buffer]) {
		return false // a slot belongs to one message only
	}
	for i := from.index; i < from.index+from.size; i++ {
		for _, a := range all[from.rank][from.buffer][i] {
			if a.writes && g.before(msg.send, a.step) && !g.before(msg.recv, a.step) {
				return true
			}
		}
	}
	return false
}

// provesRead reports whether the arrival of the packets that step s unpacks
// into a place proves that step a has read the place, because the data that a
// read are part of them:
//
//	gpu 0: ppkt in[1] ──▶ gpu 1: respkt in[1] ⊕ packets ──▶ gpu 0: upkt in[1]
func (g *graph) provesRead(a, s int, at span) bool {
	if g.steps[s].Op != ir.Recv || g.steps[a].Op != ir.Send || g.at(a, g.steps[a].Src) != at {
		return false
	}
	const far = 16 // messages to follow back
	n := 0
	for step := s; ; {
		if len(g.got[step]) == 0 {
			return false
		}
		step = g.msgs[g.got[step][0]].send
		if n++; n > far {
			return false
		}
		for _, m := range g.got[step] {
			if g.msgs[m].send == a {
				return true
			}
		}
	}
}

// localOrder adds dependencies until all steps of one GPU that touch the same
// chunk are ordered within the GPU. Messages do not suffice for that: a packet
// proves only that its own data have arrived, and nothing about earlier actions
// of its sender.
func (g *graph) localOrder(all accesses) (added [][]int) {
	added = make([][]int, len(g.steps))
	clocks := make([]counts, len(g.steps)) // by step: clock over the threadblocks of its GPU
	place := make([]int, len(g.steps))
	for i, s := range g.order {
		place[s] = i
	}
	for _, s := range g.order {
		t := g.tb[s]
		r := g.owner[t]
		clock := newCounts(g.first[r+1] - g.first[r])
		if s > g.base[t] {
			clock = clocks[s-1]
		}
		follow := func(before int) {
			clock, _ = clock.max(clocks[before])
			u := g.tb[before]
			if n := int32(before-g.base[u]) + 1; clock.at(u-g.first[r]) < n {
				clock = clock.with(u-g.first[r], n)
			}
		}
		for _, d := range g.deps[s] {
			follow(d)
		}
		g.places(s, func(at span, writes bool) {
			for i := at.index; i < at.index+at.size; i++ {
				for _, a := range all[r][at.buffer][i] {
					u := g.tb[a.step]
					if place[a.step] >= place[s] || u == t || !writes && !a.writes || clock.at(u-g.first[r]) > int32(a.step-g.base[u]) {
						continue
					}
					if !a.writes && g.provesRead(a.step, s, at) {
						continue
					}
					added[s] = append(added[s], a.step)
					follow(a.step)
				}
			}
		})
		clocks[s] = clock
	}
	return added
}
