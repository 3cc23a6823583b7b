package sim

import (
	"cmp"
	"math"
	"slices"
)

// bounds is the summary of a program for LowerBound, small enough that a bound for other
// knobs costs microseconds: threadblocks that do the same work, and edges that carry the
// same messages, are kept once.
type bounds struct {
	lanes    []lane    // one for each cost of a message
	laneOf   []int32   // by lane
	works    []work    // of threadblocks, each kind once
	workOf   []int32   // by threadblock
	loads    []traffic // of edges, each kind once
	memories []memory  // of GPUs, each kind once
	nearest  float64   // least latency of a path
	critical [3]chains // by protocol
}

// work is the ops of a threadblock in a tile.
type work struct {
	items       []item
	waits, more int64 // ops that wait, and their dependencies after the first
}

// item is n ops of a kind and count.
type item struct {
	kind  kind
	lane  int32 // in bounds.lanes; -1 where nothing is sent
	count int32
	n     int64
}

// traffic is the messages of an edge in a tile.
type traffic struct {
	cap   float64
	items []item
}

// memory is the traffic of a GPU's memory, in chunks of the whole call.
type memory struct {
	cap        float64
	wire, data int64
}

// LowerBound returns a time in microseconds that Run never falls below with the same knobs;
// 0 if the knobs are out of range. It is the greatest of four: the unhindered work of a
// threadblock, the bytes of an edge over its capacity, the traffic of a memory over its
// rate, and a longest chain of messages. Safe for concurrent use.
func (p *Prepared) LowerBound(k Knobs) float64 {
	c, err := p.costs(k)
	if err != nil {
		return 0
	}
	return p.bound(c)
}

func (p *Prepared) bound(c *costs) float64 {
	least := 0.0
	for i := range p.bounds.works {
		least = max(least, p.bounds.works[i].busy(p, c))
	}
	for i := range p.bounds.loads {
		least = max(least, p.bounds.loads[i].drain(p, c))
	}
	for _, m := range p.bounds.memories {
		least = max(least, (float64(m.data)+float64(m.wire)*c.wire)*c.chunk/m.cap)
	}
	least = max(least, p.chainBound(c))
	// A simulation adds the same numbers in another order, so leave room for
	// rounding.
	return (c.launch + least) * (1 - 1e-9)
}

// busy returns the time of the work without waits.
func (w *work) busy(p *Prepared, c *costs) float64 {
	t := w.tile(p, c, c.last)
	if c.tiles > 1 {
		t += float64(c.tiles-1) * w.tile(p, c, c.full)
	}
	return t
}

func (w *work) tile(p *Prepared, c *costs, s sizes) float64 {
	t := float64(w.waits)*c.dep + float64(w.more)*c.nop
	for _, it := range w.items {
		t += float64(it.n) * it.time(p, c, s)
	}
	return t
}

// each sums f over the calls of an op.
func (it *item) each(c *costs, s sizes, f func(*call) float64) float64 {
	whole, rest := it.count/c.perCall, it.count%c.perCall
	t := 0.0
	if whole > 0 {
		t = float64(whole) * f(&s[c.perCall])
	}
	if rest > 0 {
		t += f(&s[rest])
	}
	return t
}

// time returns the time of one op without contention.
func (it *item) time(p *Prepared, c *costs, s sizes) float64 {
	if it.kind == idle {
		return 0
	}
	return it.each(c, s, func(one *call) float64 { return c.alone(p, it, one) })
}

// alone returns the time of one call without contention.
func (c *costs) alone(p *Prepared, it *item, one *call) float64 {
	if it.kind.local() {
		return one.local(it.kind).all
	}
	halves := [2]*part{&one.first, &one.second}
	if !c.slotted() {
		switch it.kind {
		case send:
			return p.bounds.flight(c, it.lane, halves[0], halves[0].send) + c.sendCall
		case recv:
			return halves[0].recv + c.recvCall
		}
		return p.bounds.flight(c, it.lane, halves[0], halves[0].both) + max(c.sendCall, c.recvCall)
	}
	t := 0.0
	for _, half := range halves {
		switch it.kind {
		case send:
			t += p.bounds.flight(c, it.lane, half, half.send) + half.over(c.sendSlice)
		case recv:
			t += half.recv + half.over(c.recvSlice)
		default:
			t += p.bounds.flight(c, it.lane, half, half.both) + half.over(max(c.sendSlice, c.recvSlice))
		}
	}
	switch it.kind {
	case send:
		return c.sendCall + t
	case recv:
		return c.recvCall + t
	}
	return max(c.sendCall, c.recvCall) + t
}

// flight returns the time of a part on a lane that carries nothing else.
func (b *bounds) flight(c *costs, lane int32, half *part, unloaded float64) float64 {
	if half.bytes == 0 {
		return 0
	}
	l := &b.lanes[lane]
	work, alone := c.load(l, half.wire, unloaded)
	return work / soft(alone, l.cap)
}

// drain returns how long the edge is in use at full capacity, from the first message's
// start to the last one's receipt.
func (l *traffic) drain(p *Prepared, c *costs) float64 {
	bytes := func(s sizes) float64 {
		t := 0.0
		for _, it := range l.items {
			over := &p.bounds.lanes[it.lane]
			t += float64(it.n) * it.each(c, s, func(one *call) float64 { return c.carries(over, one) })
		}
		return t
	}
	all := bytes(c.last)
	if c.tiles > 1 {
		all += float64(c.tiles-1) * bytes(c.full)
	}
	if all == 0 {
		return 0
	}
	around := p.bounds.nearest
	if c.slotted() {
		around += c.sendCall + c.sendSlice + c.recvSlice
	} else {
		around += c.recvCall
	}
	return all/l.cap + around
}

// carries returns the bytes with which a call occupies a lane's edges.
func (c *costs) carries(l *lane, one *call) float64 {
	w := 0.0
	for _, half := range [2]*part{&one.first, &one.second} {
		if half.bytes > 0 {
			w += c.occupies(l, half.wire)
		}
	}
	return w
}

// prepare groups lanes, threadblocks and edges that are alike.
func (b *bounds) prepare(p *Prepared) {
	b.groupLanes(p)
	b.groupLoads(p, b.groupWorks(p))
}

// groupLanes keeps one lane for each cost of a message.
func (b *bounds) groupLanes(p *Prepared) {
	b.nearest = math.Inf(1)
	b.laneOf = make([]int32, p.sending)
	type likeness struct {
		cap, message, extra float64
		inside, net         bool
	}
	alike := make(map[likeness]int32)
	for i, l := range p.lanes[:p.sending] {
		b.nearest = min(b.nearest, l.latency)
		key := likeness{l.cap, l.message, l.extra, l.inside, l.net}
		at, ok := alike[key]
		if !ok {
			at = int32(len(b.lanes))
			alike[key] = at
			b.lanes = append(b.lanes, lane{cap: l.cap, message: l.message, extra: l.extra, inside: l.inside, net: l.net})
		}
		b.laneOf[i] = at
	}
}

// groupWorks keeps the work of threadblocks, each kind once, and returns the messages of
// each of the program's lanes.
func (b *bounds) groupWorks(p *Prepared) (byLane []map[item]int64) {
	var works distinct[work]
	byLane = make([]map[item]int64, p.sending)
	counts := make(map[item]int64)
	b.workOf = make([]int32, len(p.blocks))
	for i, blk := range p.blocks {
		clear(counts)
		w := work{}
		for j := blk.from; j < blk.to; j++ {
			o := &p.ops[j]
			if n := o.waitsTo - o.waitsFrom; n > 0 {
				w.waits++
				w.more += int64(n - 1)
			}
			it := item{kind: o.kind, lane: -1, count: o.count}
			if o.kind == send || o.kind == fused {
				at := p.conns[blk.tx].lane
				it.lane = b.laneOf[at]
				if byLane[at] == nil {
					byLane[at] = make(map[item]int64)
				}
				byLane[at][item{kind: send, lane: it.lane, count: o.count}] += blk.size / p.lanes[at].size
			}
			counts[it]++
		}
		w.items = sorted(counts)
		at := works.add(hash(w.items, uint64(w.waits), uint64(w.more)), w, func(o work) bool {
			return w.waits == o.waits && w.more == o.more && slices.Equal(w.items, o.items)
		})
		b.workOf[i] = int32(at)
	}
	b.works = works.all
	return byLane
}

// groupLoads keeps the traffic of edges, each kind once.
func (b *bounds) groupLoads(p *Prepared, byLane []map[item]int64) {
	byEdge := make([]map[item]int64, p.links)
	for at, items := range byLane {
		l := &p.lanes[at]
		for i, e := range l.edges[:l.links] {
			if byEdge[e] == nil && items != nil {
				byEdge[e] = make(map[item]int64, len(items))
			}
			for it, n := range items {
				byEdge[e][it] += n * l.alike[i]
			}
		}
	}
	var loads distinct[traffic]
	for e, items := range byEdge {
		l := traffic{cap: p.edges[e].cap, items: sorted(items)}
		loads.add(hash(l.items, math.Float64bits(l.cap), 0), l, func(o traffic) bool {
			return l.cap == o.cap && slices.Equal(l.items, o.items)
		})
	}
	b.loads = loads.all
}

// sorted lists items with their numbers, in a fixed order.
func sorted(counts map[item]int64) []item {
	all := make([]item, 0, len(counts))
	for it, n := range counts {
		it.n = n
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.lane, b.lane), cmp.Compare(a.count, b.count))
	})
	return all
}

// distinct collects values, each once; add returns the value's index.
type distinct[T any] struct {
	all  []T
	seen map[uint64][]int
}

func (d *distinct[T]) add(hash uint64, x T, equal func(T) bool) int {
	if d.seen == nil {
		d.seen = make(map[uint64][]int)
	}
	for _, i := range d.seen[hash] {
		if equal(d.all[i]) {
			return i
		}
	}
	d.seen[hash] = append(d.seen[hash], len(d.all))
	d.all = append(d.all, x)
	return len(d.all) - 1
}

// hash mixes items and two numbers (FNV's way).
func hash(items []item, a, b uint64) uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) { h = (h ^ x) * 1099511628211 }
	mix(a)
	mix(b)
	for _, it := range items {
		mix(uint64(it.kind)<<32 | uint64(uint32(it.lane)))
		mix(uint64(uint32(it.count)))
		mix(uint64(it.n))
	}
	return h
}
