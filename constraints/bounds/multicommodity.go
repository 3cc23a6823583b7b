package bounds

import (
	"math/big"

	"github.com/colltune/colltune/constraints/simplex"
)

// If each rank sends something different to each other rank, every pair is a commodity,
// and all share the links. The maximum concurrent flow is a linear program, solved by
// column generation (Dantzig and Wolfe 1960): a column is a tree of paths from a source.
// rate is the part of its data that each source sends in a unit of time, to maximise:
//
//	             rate │ trees of source 0 │ of source 1
//	link 0            │    2     1        │     0          ≤ 1
//	link 1            │    0     1        │     3          ≤ 1
//	source 0      1   │   -1    -1        │                ≤ 0
//	source 1      1   │                   │    -1          ≤ 0
//
// A tree's entries are the times that links need for it. A tree that costs less, by the
// dual values of the links, than the dual value of its source increases the rate; the
// pricing problem is a shortest-path tree. If there is none, the rate is maximal, and the
// dual values prove it. The primal solution is a flow, the dual one the best lengths.
// The lengths are converted to whole numbers and evaluated exactly: they show what cannot be
// exceeded (lengths.go). If the flow achieves that, both are optimal.

const (
	// maxRows limits the orbits of links and sources, and maxFlowWork the cells of
	// the tableau that are computed, to about a second.
	maxRows     = 1 << 10
	maxFlowWork = 900 << 20
	// uniformPart is the part of the links' lengths that is at first the same for
	// all links; it shrinks to minUniformPart and then to 0. Without it, links of
	// length 0 make for long detours.
	uniformPart    = 0.1
	minUniformPart = 1e-10
)

// commodities is the multicommodity flow problem up to symmetry: one source of each
// orbit of ranks that send, multiplied by the orbit's size, and links whose load is
// shared evenly within their orbit.
type commodities struct {
	p        *problem
	d        demand
	o        orbits
	paths    *shortestPaths
	capacity []*big.Int // by orbit of links: what they carry together
	perPart  []float64  // by orbit of links: the time they take for a part
	unit     float64    // of time: what the first trees take together
	length   []float64  // by arc
	lp       *simplex.Program
	searched int // arcs and vertices that were looked at to find trees
}

// tree is the paths from a source to the ranks it sends to.
type tree struct {
	source int
	load   []int64 // by orbit of links: the parts it puts on them
}

// multicommodity returns the bound by the best lengths if it is lower than the known
// one, and otherwise the known one, with the bandwidth of the flow found. If the system
// is too large, it returns the known bound.
func (p *problem) multicommodity(d demand, part int64, known bandwidthBound, o orbits) bandwidthBound {
	if len(o.links)+len(o.sources) > maxRows || p.ended() {
		return known
	}
	o = p.sending(d, o)
	c := &commodities{p: p, d: d, o: o, paths: newShortestPaths(p.forward), length: make([]float64, len(p.forward.Arcs))}
	c.sumCapacities()
	needed, _ := new(big.Rat).Quo(big.NewRat(part, 1), known.algbw).Float64()
	optimal := c.solve(needed)
	best := known
	if !optimal || c.time() > needed*(1+1e-9) {
		c.setLengths(0)
		best.tighten(p.lengthBound(d, part, o, simplex.Integers(c.length, maxLength, 1e-9)))
	}
	best.reached = float64(part) / c.time()
	return best
}

// sending returns the orbits without the sources that send nothing.
func (p *problem) sending(d demand, o orbits) orbits {
	all := o
	o.sources, o.times = nil, nil
	for i, r := range all.sources {
		sends := false
		d.to(p.n, r, func(int, int64) { sends = true })
		if sends {
			o.sources, o.times = append(o.sources, r), append(o.times, all.times[i])
		}
	}
	return o
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

// time returns the time that the present flow takes.
func (c *commodities) time() float64 { return c.unit / c.lp.Objective() }

// solve finds the flow that takes the least time, or a good one if the work limit is
// met first. It reports whether the time is known to be the least; needed is a time
// that none is below.
func (c *commodities) solve(needed float64) (optimal bool) {
	c.begin()
	// Lengths are the dual values plus a uniform part that shrinks. Sources are
	// priced in turn.
	even, source, asked := uniformPart, 0, 0
	c.setLengths(even)
	for c.searched+c.lp.Operations() < maxFlowWork {
		if c.time() <= needed*(1+1e-12) {
			return true
		}
		if c.p.ended() {
			return false
		}
		if !c.lp.Improve() {
			if asked == len(c.o.sources) {
				if even == 0 {
					return true
				}
				if even /= 10; even < minUniformPart {
					even = 0
				}
				c.setLengths(even)
				asked = 0
				continue
			}
			t := c.tree(source)
			asked++
			source = (source + 1) % len(c.o.sources)
			if c.cost(t) >= c.lp.Dual(len(c.o.links)+t.source)-1e-9 {
				continue
			}
			if !c.enter(t) {
				return false
			}
		}
		c.setLengths(even)
		asked = 0
	}
	return false
}

// begin solves the linear program with one tree of each source.
func (c *commodities) begin() {
	for e := range c.length {
		c.length[e] = c.perPart[c.o.link[e]]
	}
	var first []tree
	together := make([]int64, len(c.o.links))
	for i := range c.o.sources {
		first = append(first, c.tree(i))
		for e, parts := range first[i].load {
			together[e] += parts
		}
	}
	for e, parts := range together {
		c.unit = max(c.unit, float64(parts)*c.perPart[e])
	}
	c.lp = simplex.New(len(c.o.links)+len(first), 1)
	c.lp.Maximize(0)
	for e := range c.o.links {
		c.lp.SetBound(e, 1)
	}
	for i := range first {
		c.lp.SetCoefficient(len(c.o.links)+i, 0, 1)
	}
	c.lp.Improve()
	for _, t := range first {
		c.enter(t)
	}
}

// enter adds a tree to the flow. It returns false if rounding prevents it.
func (c *commodities) enter(t tree) bool {
	entries := []simplex.Entry{{Row: len(c.o.links) + t.source, Value: -1}}
	for e, parts := range t.load {
		if parts > 0 {
			entries = append(entries, simplex.Entry{Row: e, Value: float64(parts) * c.perPart[e] / c.unit})
		}
	}
	_, ok := c.lp.Enter(entries)
	return ok
}

// cost returns what a tree costs by the dual values of the links.
func (c *commodities) cost(t tree) (cost float64) {
	for e, parts := range t.load {
		cost += float64(parts) * c.perPart[e] / c.unit * c.lp.Dual(e)
	}
	return cost
}

// setLengths sets the lengths of links to their dual values, scaled to add up to 1, plus
// a uniform part.
func (c *commodities) setLengths(even float64) {
	share := even / float64(len(c.o.links))
	for e := range c.length {
		at := c.o.link[e]
		c.length[e] = (c.lp.Dual(at)/c.lp.Objective()*(1-even) + share) * c.perPart[at]
	}
}

// tree returns the shortest paths from a source to the ranks it sends to.
func (c *commodities) tree(source int) tree {
	from := c.o.sources[source]
	c.paths.from(from, c.length)
	c.searched += len(c.length) + c.p.n
	t := tree{source: source, load: make([]int64, len(c.o.links))}
	c.d.to(c.p.n, from, func(to int, parts int64) {
		for v := to; v != from; {
			e := c.paths.via[v]
			t.load[c.o.link[e]] += parts * c.o.times[source]
			v = c.p.forward.Arcs[e].From
		}
	})
	return t
}
