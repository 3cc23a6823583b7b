package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// A GPU's memory is an edge for all bytes that move at that GPU, counted once for each read
// and write. A flow is charged for its own instruction's accesses to memory, and for the
// receiver's accesses to its message:
//
//	          at the sender                    at the receiver
//	s         reads its source                 arrives in the FIFO; where that
//	rcs       reads the FIFO, writes its       is received alone:
//	          destination                      r    reads the FIFO, writes its
//	rrs       reads the FIFO and the operand        destination
//	rrcs      the same, and writes             rrc  the same, and the operand
//	cpy, re   flows over the GPU's memory alone
//
// A fused instruction sends on from registers.

// touches counts accesses to a memory: of bytes as they are on the wire, and of data.
type touches struct{ wire, data int32 }

func (t touches) plus(o touches) touches { return touches{t.wire + o.wire, t.data + o.data} }

// arrival is a message's way into the receiver's FIFO.
var arrival = touches{wire: 1}

// touched returns an instruction's accesses to the memory of its own GPU.
func touched(o ir.Op) touches {
	var t touches
	if o.Receives() {
		t.wire++ // out of the FIFO
	}
	if o.ReadsSrc() {
		t.data++
	}
	if o.WritesDst() {
		t.data++
	}
	if o == ir.Reduce {
		t.data++ // its destination, before it is written
	}
	return t
}

// one is the weight of a flow that passes an edge once. Weights are whole numbers,
// so that their sums do not depend on the order of adding.
const one = 1 << 20

// weight returns how much of a memory a flow of the given bytes uses for each byte it
// moves. It is rounded up, unless the excess is no more than a rounding error.
func (t touches) weight(bytes, wire, work float64) int64 {
	return int64(math.Ceil((float64(t.wire)*wire+float64(t.data)*bytes)/work*one - 1e-6))
}

// way tells flows inside the node from those that leave it.
type way uint8

const (
	inside way = iota
	outside
)

// divide shares the memory among its flows by weight. Flows that leave the node
// take no more of it than the NICs let through; the rest is for those inside, so
// that many slow flows do not hold up a few fast ones.
func (s *edgeState) divide(cap float64) {
	all := cap / (float64(s.load[inside]+s.load[outside]) * (1.0 / one))
	s.share = [2]float64{all, all}
	if s.load[outside] > 0 && s.load[inside] > 0 && s.kept < cap {
		s.share[inside] = max(all, (cap-s.kept)/(float64(s.load[inside])*(1.0/one)))
	}
}

// reserve is the most traffic of a memory that the network can cause, in bytes a
// microsecond: as on the wire, and as data.
type reserve struct{ wire, data float64 }

func (r reserve) over(c *costs) float64 { return r.wire + r.data/c.wire }

// add counts an edge of the network with this capacity.
func (r *reserve) add(cap float64, t touches) {
	r.wire += cap * float64(t.wire)
	r.data += cap * float64(t.data)
}

// layMemory adds the GPUs' memories to the paths of what is sent, and paths
// over memory alone for local work. Where no GPU's memory has a rate there are
// none; where only some have, the others' are without limit.
func (p *Prepared) layMemory() {
	p.links, p.sending = len(p.edges), len(p.lanes)
	limited := false
	for _, r := range p.topology.Ranks {
		limited = limited || r.Memory > 0
	}
	if !limited {
		return
	}
	for _, r := range p.topology.Ranks {
		e := edge{cap: math.Inf(1)}
		if r.Memory > 0 {
			e.cap = r.Memory.PerMicro()
		}
		p.edges = append(p.edges, e)
	}
	p.layReserves()
	for i := range p.lanes {
		l := &p.lanes[i]
		l.edges = append(l.edges, int32(p.links)+l.from, int32(p.links)+l.to)
	}
	for r := range p.topology.Ranks {
		p.lanes = append(p.lanes, lane{
			from: int32(r), to: int32(r), edges: []int32{int32(p.links + r)}, cap: math.Inf(1),
		})
	}
	for i := range p.blocks {
		b := &p.blocks[i]
		if slices.ContainsFunc(p.ops[b.from:b.to], func(o op) bool { return o.kind.local() }) {
			b.local = int32(p.sending) + b.rank
		}
	}
}

// layReserves computes the reserve of each memory: the capacity of its GPU's NICs, times
// the most accesses of any message.
func (p *Prepared) layReserves() {
	var here, there touches
	for i := range p.ops {
		if o := &p.ops[i]; o.kind == send || o.kind == fused {
			here = touches{max(here.wire, o.here.wire), max(here.data, o.here.data)}
			there = touches{max(there.wire, o.there.wire), max(there.data, o.there.data)}
		}
	}
	type passage struct{ rank, edge, way int32 }
	seen := make(map[passage]bool)
	add := func(rank, edge, way int32, t touches) {
		if at := (passage{rank, edge, way}); !seen[at] {
			seen[at] = true
			p.edges[p.links+int(rank)].far.add(p.edges[edge].cap, t)
		}
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		if !l.net {
			continue
		}
		l.way = outside
		// Its narrowest edge on the sender's side, and on the receiver's.
		first, last := int32(-1), int32(-1)
		for _, e := range l.edges {
			if p.edges[e].cap == l.cap {
				last = e
				if first < 0 {
					first = e
				}
			}
		}
		add(l.from, first, 0, here)
		add(l.to, last, 1, there)
	}
}

func (p *Prepared) hasMemories() bool { return p.links < len(p.edges) }

// memories lists the traffic of the GPUs' memories, equal ones once.
func (p *Prepared) memories() []memory {
	if !p.hasMemories() {
		return nil
	}
	of := make([]memory, len(p.topology.Ranks))
	add := func(rank int32, t touches, count int32) {
		of[rank].wire += int64(t.wire) * int64(count)
		of[rank].data += int64(t.data) * int64(count)
	}
	for _, b := range p.blocks {
		for i := b.from; i < b.to; i++ {
			o := &p.ops[i]
			add(b.rank, o.here, o.count)
			if o.kind == recv || o.kind == fused {
				add(b.rank, arrival, o.count)
			}
		}
	}
	for r := range of {
		of[r].cap = p.edges[p.links+r].cap
	}
	slices.SortFunc(of, func(a, b memory) int {
		return cmp.Or(cmp.Compare(a.cap, b.cap), cmp.Compare(a.wire, b.wire), cmp.Compare(a.data, b.data))
	})
	return slices.Compact(of)
}
