package bounds

import "math/big"

// If each rank sends something different to each other rank, every pair is a commodity,
// and all share the links. The maximum concurrent flow is a linear program, solved by
// column generation (master.go): a column is a tree of paths from a source, and the
// pricing problem is a shortest-path tree by the dual values of the links. The primal
// solution is a flow, the dual one the best lengths. Both are converted to whole numbers
// and evaluated exactly: the flow shows what can be achieved, the lengths what cannot be
// exceeded (lengths.go). If they are equal, both are optimal.

const (
	// maxRows limits the orbits of links and sources, and maxMasterWork the cells of
	// the master program's inverse that are computed, to about a second.
	maxRows       = 1 << 10
	maxMasterWork = 1 << 29
	// uniformPart is the part of the links' lengths that is at first the same for
	// all links; it shrinks to minUniformPart and then to 0. Without it, links of
	// length 0 make for long detours.
	uniformPart    = 0.1
	minUniformPart = 1e-10
)

// commodities is the multicommodity flow problem up to symmetry: one source of each
// orbit of ranks, multiplied by the orbit's size, and links whose load is shared evenly
// within their orbit.
type commodities struct {
	p          *problem
	d          demand
	o          orbits
	paths      *shortestPaths
	capacity   []*big.Int // by orbit of links: what they carry together
	perPart    []float64  // by orbit of links: the time they take for a part
	length     []float64  // by arc
	work       int
	lowerBound float64 // a time that is known to be necessary
	optimal    bool    // the time found is the minimum
}

// multicommodity returns the bound by the best lengths if it is lower than the known
// one, and otherwise the known one, with the bandwidth of the flow found. If the system
// is too large, it returns the known bound.
func (p *problem) multicommodity(d demand, part int64, known bandwidthBound, o orbits) bandwidthBound {
	rows := len(o.links) + len(o.sources)
	if rows > maxRows || p.ended() {
		return known
	}
	c := &commodities{p: p, d: d, o: o, paths: newShortestPaths(p.forward), length: make([]float64, len(p.forward.Arcs)), work: maxMasterWork}
	c.sumCapacities()
	c.lowerBound, _ = new(big.Rat).Quo(big.NewRat(part, 1), known.algbw).Float64()
	m := c.solve()
	best := known
	if !c.optimal || m.objective() > c.lowerBound*(1+1e-9) {
		c.setLengths(m, 0)
		best.tighten(p.lengthBound(d, part, o, integerLengths(c.length)))
	}
	best.reached = new(big.Rat).Quo(big.NewRat(part, 1), c.exactTime(m))
	return best
}

func (c *commodities) sumCapacities() {
	for range c.o.links {
		c.capacity = append(c.capacity, new(big.Int))
	}
	for e, a := range c.p.forward.Arcs {
		r := c.capacity[c.o.link[e]]
		r.Add(r, big.NewInt(a.Capacity))
	}
	for _, r := range c.capacity {
		room, _ := new(big.Float).SetInt(r).Float64()
		c.perPart = append(c.perPart, 1/room)
	}
}

// solve finds the flow that takes the least time, or a good one if the work limit is
// met first.
func (c *commodities) solve() *master {
	for e := range c.length {
		c.length[e] = c.perPart[c.o.link[e]]
	}
	var first []column
	for i := range c.o.sources {
		first = append(first, c.tree(i))
	}
	m := newMaster(len(c.o.links), first)
	// Lengths are the dual values plus a uniform part that shrinks. Sources are
	// priced in turn.
	even, source, asked := uniformPart, 0, 0
	c.setLengths(m, even)
	for c.work > 0 && m.objective() > c.lowerBound*(1+1e-12) {
		enter := column{source: -1}
		if e, found := m.mostNegative(); found {
			enter.link = e
		} else if asked == len(c.o.sources) {
			if even == 0 {
				c.optimal = true
				return m
			}
			if even /= 10; even < minUniformPart {
				even = 0
			}
			c.setLengths(m, even)
			asked = 0
			continue
		} else {
			tree := c.tree(source)
			asked++
			source = (source + 1) % len(c.o.sources)
			cost := 0.0
			for e, t := range tree.times {
				cost += t * max(0, m.linkDual(e))
			}
			if cost >= m.sourceDual(tree.source)-1e-9*m.objective() {
				continue
			}
			enter = tree
		}
		if c.p.ended() || !m.enter(enter) {
			return m
		}
		c.work -= len(m.basis) * len(m.basis)
		c.setLengths(m, even)
		asked = 0
	}
	c.optimal = c.work > 0
	return m
}

// setLengths sets the lengths of links to their dual values, plus a uniform part.
func (c *commodities) setLengths(m *master, even float64) {
	share := even / float64(len(c.o.links))
	for e := range c.length {
		at := c.o.link[e]
		c.length[e] = (max(0, m.linkDual(at))*(1-even) + share) * c.perPart[at]
	}
}

// tree returns the column of the shortest paths from a source to the ranks it sends to.
func (c *commodities) tree(source int) column {
	from := c.o.sources[source]
	c.paths.from(from, c.length)
	c.work -= len(c.length) + c.p.n
	t := column{source: source, load: make([]int64, len(c.o.links)), times: make([]float64, len(c.o.links))}
	c.d.to(c.p.n, from, func(to int, parts int64) {
		for v := to; v != from; {
			e := c.paths.via[v]
			t.load[c.o.link[e]] += parts * c.o.times[source]
			v = c.p.forward.Arcs[e].From
		}
	})
	for e, parts := range t.load {
		t.times[e] = float64(parts) * c.perPart[e]
	}
	return t
}
