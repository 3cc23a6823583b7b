package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/verify"
)

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
	if !port || in.op.Kind.effect == moves {
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
	who := r.watch.begin(t, in, n*in.cellAccesses())
	if in.op.Kind.effect == pairs {
		for i := range in.src {
			if port {
				who = r.watch.handToPort(t, i, in)
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
	for i := range in.src { // without any data being used
		for j := range n {
			r.watch.recordPacketSource(who, i*n+j, r.cell(&in.src[i], 0, from, j))
		}
	}
	r.watch.sync(t)
	for i := range in.dst {
		r.transfer(t, r.watch.handToPort(t, i, in), in, in.src, in.dst[i:i+1], from, n, i*in.cells)
	}
	return true
}

// cellAccesses returns the number of cells an instruction reads and writes for
// each cell it moves.
func (in *instr) cellAccesses() int {
	n := 0
	for _, regions := range [...][]region{in.src, in.dst} {
		for i := range regions {
			n += len(regions[i].first)
		}
	}
	return n
}

// cell returns element j of the pass of a region that begins at from, in the
// memory of one of its ranks.
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
// for a place if it is reused.
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
