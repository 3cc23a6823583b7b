package bounds

import "math/big"

// Where each rank sends something different to each other rank, every pair is a
// commodity, and all share the links. What a rank sends along shortest paths forms
// a tree; a mix of trees for each rank is a flow; and the best mix is the solution
// of a linear program (simplex.go), which also finds the lengths by which paths
// should be shortest. Both solutions are then turned into whole numbers and
// evaluated exactly: the flow shows what can be achieved, and the lengths what
// can't be exceeded (lengths.go). If the two are equal, both are exact.

const (
	// manyRows limits the orbits of links and of sources, and mixingWork how many
	// cells of the program's table are computed, to about a second.
	manyRows   = 1 << 10
	mixingWork = 1 << 29
	// evenly is the part of the links' lengths that at first is the same for all,
	// and evenlyLeast the smallest such part before none. Links of length 0 would
	// make trees wander.
	evenly      = 0.1
	evenlyLeast = 1e-10
)

// commodities is what is sent: by one rank of each orbit, multiplied by the size
// of the orbit, over links whose load is shared evenly within their orbits.
type commodities struct {
	p       *problem
	d       pairs
	o       orbits
	w       *ways
	room    []*big.Int // by orbit of links: what they carry together
	takes   []float64  // by orbit of links: the time they take for a part
	length  []float64  // by arc
	work    int
	enough  float64 // a time that is known to be necessary
	settled bool    // the time found is the minimum
}

// multicommodity is the bound by the best lengths if it is lower than the known
// one, and otherwise the known one, together with what a flow achieves. Systems
// that are too large get the known one.
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

// mix finds the mix of trees that takes the least time, or a good one if the work
// reaches its limit first.
func (c *commodities) mix() *mixing {
	for e := range c.length {
		c.length[e] = c.takes[c.o.link[e]]
	}
	var first []column
	for i := range c.o.sources {
		first = append(first, c.tree(i))
	}
	m := newMixing(len(c.o.links), first)
	// Lengths are the prices plus a part that is the same for all and gets
	// smaller. One source after another is asked for a cheaper tree.
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

// price sets the lengths of links to their prices, plus a part that is the same
// for all.
func (c *commodities) price(m *mixing, even float64) {
	share := even / float64(len(c.o.links))
	for e := range c.length {
		at := c.o.link[e]
		c.length[e] = (max(0, m.price(at))*(1-even) + share) * c.takes[at]
	}
}

// tree is the shortest paths from a source to everything it sends to.
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
