package sim

import (
	"math"
	"sort"
	"sync"

	"github.com/colltune/colltune/topologies"
)

// At small sizes, where latency dominates, a program is bounded by a chain of ops, each of
// which waits for the one before it: by a message, a dependency or the order of a
// threadblock. The longest chain depends on the size. Two are kept for each protocol, found
// at a tiny tile and at a whole one, and timed anew for every size. The result is a bound
// even where another chain is longer, because any chain is one.

// chains are the longest chains of a protocol, found when first asked for.
type chains struct {
	once sync.Once
	all  []chain
}

// chain lists ops in the order in which they wait for each other.
type chain struct {
	links       []link
	first, last int32 // threadblocks
}

// link is an op of a chain, and how it waits for the one before.
type link struct {
	kind  kind
	via   via
	count int32
	lane  int32 // it sends on, in bounds.lanes
	in    int32 // the lane it receives on
	waits int32 // dependencies
}

type via uint8

const (
	byOrder via = iota // of its threadblock; also the first link's
	byMessage
	byDependency
)

// chainBound returns the greater time of the two chains kept.
func (p *Prepared) chainBound(c *costs) float64 {
	of := &p.bounds.critical[c.proto]
	of.once.Do(func() { of.all = p.findChains(c.proto) })
	least := 0.0
	var t timer
	for i := range of.all {
		ch := &of.all[i]
		// The chain runs through the last tile, after all the tiles before it.
		a := t.time(p, c, c.last, ch)
		if c.tiles > 1 {
			a += float64(c.tiles-1) * p.work(ch.first).tile(p, c, c.full)
			// Or it runs through the first tile, before all the tiles after it.
			last := p.work(ch.last)
			b := t.time(p, c, c.full, ch) + float64(c.tiles-2)*last.tile(p, c, c.full) + last.tile(p, c, c.last)
			a = max(a, b)
		}
		least = max(least, a)
	}
	return least
}

func (p *Prepared) work(block int32) *work { return &p.bounds.works[p.bounds.workOf[block]] }

// timer times chains. It holds the messages of the link before, and of this one.
type timer struct{ in, out []times }

// times are a message's: its start, and its arrival without the latency.
type times struct{ start, arrive float64 }

// time returns the time of a chain in a tile with these sizes.
func (t *timer) time(p *Prepared, c *costs, s sizes, ch *chain) float64 {
	ready := 0.0
	for i := range ch.links {
		l := &ch.links[i]
		t.in, t.out = t.out, t.in[:0]
		if l.via == byMessage {
			ready = math.Inf(-1)
		} else if l.waits > 0 {
			ready += c.dep + float64(l.waits-1)*c.nop
		}
		if l.kind == idle {
			continue
		}
		for j := int32(0); j < c.calls(l.count); j++ {
			one := &s[c.chunks(l.count, j)]
			switch {
			case l.kind.local():
				ready += one.local(l.kind).all
			case c.slotted():
				ready = t.slices(p, c, l, one, ready, int(j))
			default:
				ready = t.pass(p, c, l, one, ready, int(j))
			}
		}
	}
	return ready
}

func (t *timer) pass(p *Prepared, c *costs, l *link, one *call, ready float64, j int) float64 {
	half := &one.first
	var in times
	if l.via == byMessage {
		in = t.in[j]
		in.start += c.latency[l.in]
		in.arrive += c.latency[l.in]
	}
	if l.kind == recv {
		if l.via == byMessage {
			return max(max(ready, in.start)+half.recv, in.arrive+half.tail) + c.recvCall
		}
		return ready + half.recv + c.recvCall
	}
	var out times
	after := c.sendCall
	switch {
	case l.kind == send:
		out = times{ready, ready + p.bounds.flight(c, l.lane, half, half.send)}
	case l.via == byMessage:
		out.start = max(ready, in.start)
		out.arrive = max(out.start+p.bounds.flight(c, l.lane, half, half.both), in.arrive+half.tailBoth)
		after = max(c.sendCall, c.recvCall)
	default:
		out = times{ready, ready + p.bounds.flight(c, l.lane, half, half.both)}
		after = max(c.sendCall, c.recvCall)
	}
	t.out = append(t.out, out)
	return out.arrive + after
}

func (t *timer) slices(p *Prepared, c *costs, l *link, one *call, ready float64, j int) float64 {
	switch l.kind {
	case send:
		ready += c.sendCall
	case recv:
		ready += c.recvCall
	default:
		ready += max(c.sendCall, c.recvCall)
	}
	for i, half := range [2]*part{&one.first, &one.second} {
		if l.via == byMessage {
			ready = max(ready, t.in[2*j+i].arrive+c.latency[l.in])
		}
		switch l.kind {
		case send:
			ready += p.bounds.flight(c, l.lane, half, half.send) + half.over(c.sendSlice)
			t.out = append(t.out, times{arrive: ready})
		case recv:
			ready += half.recv + half.over(c.recvSlice)
		default:
			ready += p.bounds.flight(c, l.lane, half, half.both)
			t.out = append(t.out, times{arrive: ready + half.over(c.sendSlice)})
			ready += half.over(max(c.sendSlice, c.recvSlice))
		}
	}
	return ready
}

// findChains finds a protocol's longest chains, at two sizes.
func (p *Prepared) findChains(proto topologies.Proto) []chain {
	var all []chain
	for _, bytes := range []int64{4 * p.loopChunks, int64(p.topology.Protocols[proto].Tile) * p.loopChunks} {
		c, err := p.costs(Knobs{Bytes: bytes, Protocol: proto})
		if err != nil {
			continue
		}
		if ch, ok := p.longest(c); ok {
			all = append(all, ch)
		}
	}
	return all
}

// search finds the longest chain. It computes the end of every op without contention for
// links and slots, and the op it waited for last.
type search struct {
	p       *Prepared
	end     []float64 // by op: when its threadblock goes on
	arrive  []float64 // by op that sends: when its last message has come
	cause   []int32   // by op: the op it waited for last, -1 none
	via     []via
	next    []int32   // by threadblock: the op it is at
	sent    [][]int32 // by connection: sending ops whose times are known
	taken   []int32   // by connection
	waiters [][]int32 // by threadblock: those that wait for it to go on
	ready   []int32
	memo    map[item]float64
}

// longest returns the chain to the op that ends last; false if the program deadlocks.
func (p *Prepared) longest(c *costs) (chain, bool) {
	n := len(p.ops)
	s := &search{
		p: p, end: make([]float64, n), arrive: make([]float64, n), cause: make([]int32, n), via: make([]via, n),
		next: make([]int32, len(p.blocks)), sent: make([][]int32, len(p.conns)), taken: make([]int32, len(p.conns)),
		waiters: make([][]int32, len(p.blocks)), memo: make(map[item]float64),
	}
	left := 0
	for i, b := range p.blocks {
		s.next[i] = b.from
		left += int(b.to - b.from)
		s.ready = append(s.ready, int32(i))
	}
	for len(s.ready) > 0 {
		i := s.ready[len(s.ready)-1]
		s.ready = s.ready[:len(s.ready)-1]
		for s.next[i] < p.blocks[i].to && s.step(c, i) {
			left--
		}
	}
	if left > 0 || n == 0 {
		return chain{}, false
	}
	last := int32(0)
	for i := range s.end {
		if s.end[i] > s.end[last] {
			last = int32(i)
		}
	}
	return s.trace(last), true
}

// step times a threadblock's next op. It returns false if an op that it waits for has no
// time yet.
func (s *search) step(c *costs, i int32) bool {
	p := s.p
	b := &p.blocks[i]
	at := s.next[i]
	o := &p.ops[at]
	start, cause, how := 0.0, int32(-1), byOrder
	if at > b.from {
		start, cause = s.end[at-1], at-1
	}
	for j := o.waitsFrom; j < o.waitsTo; j++ {
		w := p.waits[j]
		dep := p.opOf(w)
		if s.next[w.block] <= dep {
			s.waiters[w.block] = append(s.waiters[w.block], i)
			return false
		}
		if s.end[dep] > start {
			start, cause, how = s.end[dep], dep, byDependency
		}
	}
	if n := o.waitsTo - o.waitsFrom; n > 0 {
		start += c.dep + float64(n-1)*c.nop
	}
	end := start + s.time(c, b, o)
	if o.kind == recv || o.kind == fused {
		if int(s.taken[b.rx]) >= len(s.sent[b.rx]) {
			return false // the sender's step wakes it
		}
		from := s.sent[b.rx][s.taken[b.rx]]
		s.taken[b.rx]++
		lane := p.conns[b.rx].lane
		if t := s.arrive[from] + c.latency[lane] + s.tail(c, o); t > end {
			end, cause, how = t, from, byMessage
		}
	}
	s.end[at], s.cause[at], s.via[at] = end, cause, how
	s.next[i]++
	if o.kind == send || o.kind == fused {
		s.arrive[at] = end
		if !c.slotted() {
			s.arrive[at] -= c.sendCall
		}
		s.sent[b.tx] = append(s.sent[b.tx], at)
		s.ready = append(s.ready, p.conns[b.tx].rx)
	}
	if o.flagged && len(s.waiters[i]) > 0 {
		s.ready = append(s.ready, s.waiters[i]...)
		s.waiters[i] = s.waiters[i][:0]
	}
	return true
}

// time returns the time of an op without contention.
func (s *search) time(c *costs, b *block, o *op) float64 {
	it := item{kind: o.kind, count: o.count}
	if o.kind == send || o.kind == fused {
		it.lane = s.p.bounds.laneOf[s.p.conns[b.tx].lane]
	}
	t, ok := s.memo[it]
	if !ok {
		t = it.time(s.p, c, c.full)
		s.memo[it] = t
	}
	return t
}

// tail returns roughly the time of an op after its last message has arrived.
func (s *search) tail(c *costs, o *op) float64 {
	one := &c.full[c.chunks(o.count, c.calls(o.count)-1)]
	switch {
	case c.slotted() && o.kind == recv:
		return one.first.recv + c.recvSlice
	case c.slotted():
		return one.first.both + max(c.sendSlice, c.recvSlice)
	case o.kind == recv:
		return one.first.tail + c.recvCall
	}
	return one.first.tailBoth + max(c.sendCall, c.recvCall)
}

func (p *Prepared) opOf(w wait) int32 {
	lo, hi := p.blocks[w.block].from, p.blocks[w.block].to-1
	for lo < hi {
		mid := (lo + hi) / 2
		if p.ops[mid].step < w.step {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// trace walks the causes back from an op.
func (s *search) trace(last int32) chain {
	p := s.p
	owner := make([]int32, 0, 16)
	var ops []int32
	for at := last; at >= 0; at = s.cause[at] {
		ops = append(ops, at)
		owner = append(owner, p.blockOf(at))
	}
	ch := chain{links: make([]link, len(ops)), first: owner[len(owner)-1], last: owner[0]}
	for i, at := range ops {
		o, b := &p.ops[at], &p.blocks[owner[i]]
		l := link{kind: o.kind, via: s.via[at], count: o.count, waits: o.waitsTo - o.waitsFrom}
		if b.tx >= 0 {
			l.lane = p.bounds.laneOf[p.conns[b.tx].lane]
		}
		if b.rx >= 0 {
			l.in = p.conns[b.rx].lane
		}
		ch.links[len(ops)-1-i] = l
	}
	return ch
}

// blockOf returns the threadblock of an op.
func (p *Prepared) blockOf(at int32) int32 {
	return int32(sort.Search(len(p.blocks)-1, func(i int) bool { return p.blocks[i+1].from > at }))
}
