package bounds

import "math/big"

// A rank sends to others, each of which wants something else: a commodity for
// every pair, all of which share the links. What a rank sends along shortest ways
// is a tree; a mix of trees for each rank is a flow; and how it is best mixed is a
// linear program (simplex.go), which also finds the lengths by which ways are to
// be the shortest. Both its answers are then told in whole numbers and judged in
// them: the flow says what can be reached, the lengths what cannot be passed
// (lengths.go). Where they meet, both are exact.

const (
	// manyRows is how many orbits of links and of sources a program is solved for,
	// mixingWork how many cells of its table are gone through: a second's.
	manyRows   = 1 << 10
	mixingWork = 1 << 29
	// evenly is the part of links' lengths that is the same for all at first, and
	// evenlyLeast the least but for none. Links of length 0 lead trees astray.
	evenly      = 0.1
	evenlyLeast = 1e-10
)

// commodities is what is sent: from a rank of each orbit, as many times as there
// are in it, over links of which those of an orbit share evenly.
type commodities struct {
	p       *problem
	d       pairs
	o       orbits
	w       *ways
	room    []*big.Int // what the links of an orbit carry together
	takes   []float64  // how long they take for a part
	length  []float64  // by arc
	work    int
	enough  float64 // the time that is known to be needed
	settled bool    // the time found is the least
}

// multicommodity is the bound by the best lengths, where it is lower than one that
// is known, and else that one; with what a flow reaches. Systems that are too
// large are left as they are.
func (p *problem) multicommodity(d pairs, part int64, known limit, o orbits) limit {
	rows := len(o.links) + len(o.sources)
	if rows > manyRows {
		return known
	}
	c := &commodities{p: p, d: d, o: o, w: newWays(p.forward), length: make([]float64, len(p.forward.arcs)), work: mixingWork}
	c.measureRoom()
	c.enough, _ = new(big.Rat).Quo(big.NewRat(part, 1), known.algbw).Float64()
	m := c.mix()
	best := known
	if !c.settled || m.takes() > c.enough*(1+1e-9) {
		c.price(m, 0)
		best.least(p.measured(d, part, o, rounded(c.length)))
	}
	best.reached = new(big.Rat).Quo(big.NewRat(part, 1), c.time(m))
	return best
}

func (c *commodities) measureRoom() {
	for range c.o.links {
		c.room = append(c.room, new(big.Int))
	}
	for e, a := range c.p.forward.arcs {
		r := c.room[c.o.link[e]]
		r.Add(r, big.NewInt(a.capacity))
	}
	for _, r := range c.room {
		room, _ := new(big.Float).SetInt(r).Float64()
		c.takes = append(c.takes, 1/room)
	}
}

// mix finds the mixes of trees that take the least time, or, where work comes to
// its end before, some.
func (c *commodities) mix() *mixing {
	for e := range c.length {
		c.length[e] = c.takes[c.o.link[e]]
	}
	var first []column
	for i := range c.o.sources {
		first = append(first, c.tree(i))
	}
	m := newMixing(len(c.o.links), first)
	// Lengths are the prices, with less and less of what is the same for all; a
	// source after the other is asked for a tree that is cheaper.
	even, source, asked := evenly, 0, 0
	c.price(m, even)
	for c.work > 0 && m.takes() > c.enough*(1+1e-12) {
		enter := column{source: -1}
		if e, found := m.dearest(); found {
			enter.link = e
		} else if asked == len(c.o.sources) {
			if even == 0 {
				c.settled = true
				return m
			}
			if even /= 10; even < evenlyLeast {
				even = 0
			}
			c.price(m, even)
			asked = 0
			continue
		} else {
			tree := c.tree(source)
			asked++
			source = (source + 1) % len(c.o.sources)
			cost := 0.0
			for e, t := range tree.takes {
				cost += t * max(0, m.price(e))
			}
			if cost >= m.worth(tree.source)-1e-9*m.takes() {
				continue
			}
			enter = tree
		}
		c.p.look()
		if !m.enter(enter) {
			return m
		}
		c.work -= len(m.hand) * len(m.hand)
		c.price(m, even)
		asked = 0
	}
	c.settled = c.work > 0
	return m
}

// price makes links as long as their prices say, but for a part that is the same
// for all.
func (c *commodities) price(m *mixing, even float64) {
	share := even / float64(len(c.o.links))
	for e := range c.length {
		at := c.o.link[e]
		c.length[e] = (max(0, m.price(at))*(1-even) + share) * c.takes[at]
	}
}

// tree is shortest ways from a source to all it sends to.
func (c *commodities) tree(source int) column {
	c.p.look()
	from := c.o.sources[source]
	c.w.from(from, c.length)
	c.work -= len(c.length) + c.p.n
	t := column{source: source, load: make([]int64, len(c.o.links)), takes: make([]float64, len(c.o.links))}
	c.d.to(c.p.n, from, func(to int, parts int64) {
		for v := to; v != from; {
			e := c.w.via[v]
			t.load[c.o.link[e]] += parts * c.o.times[source]
			v = int(c.p.forward.arcs[e].from)
		}
	})
	for e, parts := range t.load {
		t.takes[e] = float64(parts) * c.takes[e]
	}
	return t
}
