package sim

import (
	"math"
	"slices"
	"sort"
)

// Threadblocks that do the same, beside threadblocks that do the same, over links that are
// loaded the same, have the same times. So a program is folded before it is simulated: of
// the threadblocks, lanes and edges that cannot be told apart, one is kept, and counts for
// all. A ring on which all ranks do the same is one threadblock that sends to itself.
//
// Two are told apart by what they are, and by what acts on them: a threadblock by its ops,
// its two partners, the lane that it sends on and the threadblocks it waits for; a lane by
// its threadblocks and edges, in their order; an edge by the lanes that lead over it. The
// classes are the coarsest that these conditions allow (refine.go). Then two of a class see
// the same at every instant: by induction over instants, folding changes no time, bit for bit.

// fold keeps one member of each class, or all.
func (p *Prepared) fold(all bool) {
	b, l := len(p.blocks), len(p.blocks)+len(p.lanes)
	class := make([]int32, l+len(p.edges))
	if all {
		for i := range class {
			class[i] = int32(i)
		}
	} else {
		class = refine(p.keys(), p.arcs)
	}
	p.keep(number(class[:b]), number(class[b:l]), number(class[l:]))
}

// keys returns a hash of what each threadblock, lane and edge is by itself.
func (p *Prepared) keys() []uint64 {
	keys := make([]uint64, 0, len(p.blocks)+len(p.lanes)+len(p.edges))
	for _, b := range p.blocks {
		h := mixed(uint64(b.steps), 1)
		for i := b.from; i < b.to; i++ {
			o := &p.ops[i]
			h = mixed(h, uint64(o.kind)|bit(o.flagged)<<8|uint64(o.count)<<16)
			h = mixed(h, uint64(o.step)|uint64(o.waitsTo-o.waitsFrom)<<32)
			h = mixed(h, uint64(o.here.wire)|uint64(o.here.data)<<32)
			h = mixed(h, uint64(o.there.wire)|uint64(o.there.data)<<32)
		}
		keys = append(keys, h)
	}
	for i := range p.lanes {
		l := &p.lanes[i]
		h := mixed(uint64(len(l.edges))|uint64(l.links)<<16|bit(l.net)<<32|bit(l.inside)<<33|uint64(l.way)<<34, 2)
		for _, x := range []float64{l.cap, l.message, l.extra, l.latency} {
			h = mixed(h, math.Float64bits(x))
		}
		keys = append(keys, h)
	}
	for i := range p.edges {
		e := &p.edges[i]
		h := mixed(bit(i >= p.links), 3)
		for _, x := range []float64{e.cap, e.far.wire, e.far.data} {
			h = mixed(h, math.Float64bits(x))
		}
		keys = append(keys, h)
	}
	return keys
}

func bit(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

// arcs lists what acts on each threadblock, lane and edge.
func (p *Prepared) arcs(reads read) {
	const receiver, sender, path, memory, waited = 0, 1, 2, 3, 4
	lanes := int32(len(p.blocks))
	edges := lanes + int32(len(p.lanes))
	for i, b := range p.blocks {
		at := int32(i)
		if b.tx >= 0 {
			c := &p.conns[b.tx]
			reads(at, lanes+c.lane, path)
			reads(lanes+c.lane, at, 0)
			if c.rx >= 0 {
				reads(at, c.rx, receiver)
			}
		}
		if b.rx >= 0 {
			reads(at, p.conns[b.rx].tx, sender)
		}
		if b.local >= 0 {
			reads(at, lanes+b.local, memory)
			reads(lanes+b.local, at, 0)
		}
		for j := b.from; j < b.to; j++ {
			for _, w := range p.waits[p.ops[j].waitsFrom:p.ops[j].waitsTo] {
				reads(at, w.block, waited+uint64(j-b.from)<<32+uint64(w.step))
			}
		}
	}
	for i := range p.lanes {
		for nth, e := range p.lanes[i].edges {
			reads(lanes+int32(i), edges+e, 1+uint64(nth))
			reads(edges+e, lanes+int32(i), uint64(nth))
		}
	}
}

// classes numbers the classes of some nodes by their first members.
type classes struct {
	first []int32 // member of each class
	size  []int64 // of each class
	of    []int32 // by node
}

func number(class []int32) classes {
	c := classes{of: make([]int32, len(class))}
	numbers := make(map[int32]int32)
	for i, x := range class {
		n, ok := numbers[x]
		if !ok {
			n = int32(len(c.first))
			numbers[x] = n
			c.first, c.size = append(c.first, int32(i)), append(c.size, 0)
		}
		c.of[i] = n
		c.size[n]++
	}
	return c
}

// keep replaces the program by the first member of each class.
func (p *Prepared) keep(blocks, lanes, edges classes) {
	keptEdges := make([]edge, len(edges.first))
	for i, of := range edges.first {
		keptEdges[i] = p.edges[of]
	}
	keptLanes := make([]lane, len(lanes.first))
	for i, of := range lanes.first {
		l := p.lanes[of]
		l.size = lanes.size[i]
		l.edges, l.alike = slices.Clone(l.edges), make([]int64, len(l.edges))
		for j, e := range l.edges {
			l.edges[j] = edges.of[e]
			l.alike[j] = l.size / edges.size[l.edges[j]]
		}
		keptLanes[i] = l
	}
	var ops []op
	var waits []wait
	var conns []conn
	keptBlocks := make([]block, len(blocks.first))
	for i, of := range blocks.first {
		b := p.blocks[of]
		b.size = blocks.size[i]
		if b.local >= 0 {
			b.local = lanes.of[b.local]
		}
		if b.tx >= 0 {
			c := p.conns[b.tx]
			b.tx = int32(len(conns))
			c.tx, c.lane = int32(i), lanes.of[c.lane]
			if c.rx >= 0 {
				c.rx = blocks.of[c.rx]
			}
			conns = append(conns, c)
		}
		from := int32(len(ops))
		for _, o := range p.ops[b.from:b.to] {
			was := p.waits[o.waitsFrom:o.waitsTo]
			o.waitsFrom = int32(len(waits))
			for _, w := range was {
				waits = append(waits, wait{blocks.of[w.block], w.step, w.id})
			}
			o.waitsTo = int32(len(waits))
			ops = append(ops, o)
		}
		b.from, b.to = from, int32(len(ops))
		keptBlocks[i] = b
	}
	for i, c := range conns {
		if c.rx >= 0 {
			keptBlocks[c.rx].rx = int32(i)
		}
	}
	p.links = sort.Search(len(edges.first), func(i int) bool { return int(edges.first[i]) >= p.links })
	p.sending = sort.Search(len(lanes.first), func(i int) bool { return int(lanes.first[i]) >= p.sending })
	p.ops, p.waits, p.conns = ops, waits, conns
	p.blocks, p.lanes, p.edges = keptBlocks, keptLanes, keptEdges
}
