package symmetry

import (
	"context"
	"math/big"
	"slices"
)

// Group is a group of automorphisms.
type Group struct {
	// Generators are permutations: vertex v goes to Generators[i][v]. None is
	// the identity.
	Generators [][]int
	// Complete means that they generate all automorphisms. Otherwise the search met
	// its limit.
	Complete   bool
	vertices   int
	orbitSizes []int // of the orbits of the picks, whose product is the group's order
}

// Limit is a limit on work that suffices for systems of about 64 ranks. It stands
// for less than a second.
const Limit = 100_000_000

// search is the state of Find.
type search struct {
	ctx         context.Context
	g           *Graph
	work        int // arcs and vertices still to look at
	stabilizers []*partition
	base        []int // the vertex picked in each partition of the path but the last
}

// Find finds the automorphism group of a graph. limit is the number of arcs and
// vertices that it may visit; it also stops once the context has ended. Either makes
// the group incomplete.
func Find(ctx context.Context, g *Graph, limit int) *Group {
	g.index()
	s := &search{ctx: ctx, g: g, work: limit}
	group := &Group{Complete: true, vertices: len(g.colours)}
	for p := s.initialPartition(); ; {
		s.stabilizers = append(s.stabilizers, p)
		cell := p.targetCell()
		if cell < 0 {
			break
		}
		if s.work < 0 {
			group.Complete = false
			return group
		}
		s.base = append(s.base, p.members(cell)[0])
		p = s.individualize(p, s.base[len(s.base)-1])
	}
	// From the last base point to the first: the automorphisms found so far fix the
	// base points before this one, so their orbits apply to its possible images.
	for level := len(s.base) - 1; level >= 0; level-- {
		p, picked := s.stabilizers[level], s.base[level]
		var failed []int
		alike := group.Orbits()
		for _, v := range p.members(p.cell[picked]) {
			if alike[v] == alike[picked] || slices.ContainsFunc(failed, func(f int) bool { return alike[f] == alike[v] }) {
				continue
			}
			image := s.findImage(level, s.individualize(p, v))
			switch {
			case image != nil:
				group.Generators = append(group.Generators, image)
				alike = group.Orbits()
			default:
				failed = append(failed, v)
			}
			if s.work < 0 {
				group.Complete = false
				break
			}
		}
		order := 0
		for _, a := range alike {
			if a == alike[picked] {
				order++
			}
		}
		group.orbitSizes = append(group.orbitSizes, order)
		if !group.Complete {
			return group
		}
	}
	return group
}

// findImage returns an automorphism that maps the partition after a level's base
// point to q, or nil if there is none or the work limit is met.
func (s *search) findImage(level int, q *partition) []int {
	p := s.stabilizers[level+1]
	if s.work < 0 || q.cells != p.cells || q.trace != p.trace {
		return nil
	}
	if level+1 == len(s.base) {
		at := make([]int, len(q.cell)) // by cell
		for v, c := range q.cell {
			at[c] = v
		}
		image := make([]int, len(p.cell))
		for v, c := range p.cell {
			image[v] = at[c]
		}
		s.work -= len(s.g.arcs)
		if s.g.isAutomorphism(image) {
			return image
		}
		return nil
	}
	for _, v := range q.members(p.cell[s.base[level+1]]) {
		if s.work < 0 {
			return nil
		}
		if image := s.findImage(level+1, s.individualize(q, v)); image != nil {
			return image
		}
	}
	return nil
}

// Orbits returns, by vertex, the least vertex of its orbit under the group.
func (g *Group) Orbits() []int { return Orbits(g.vertices, g.Generators) }

// Orbits returns, for each of the points 0 to points-1, the least point of its orbit
// under the group that the permutations generate: generators[i][v] is v's image.
func Orbits(points int, generators [][]int) []int {
	root := make([]int, points)
	for v := range root {
		root[v] = v
	}
	find := func(v int) int {
		for root[v] != v {
			root[v] = root[root[v]]
			v = root[v]
		}
		return v
	}
	for _, image := range generators {
		for v, w := range image {
			if a, b := find(v), find(w); a != b {
				root[max(a, b)] = min(a, b)
			}
		}
	}
	for v := range root {
		root[v] = find(v)
	}
	return root
}

// Order returns the number of automorphisms that the generators generate.
func (g *Group) Order() *big.Int {
	order := big.NewInt(1)
	for _, n := range g.orbitSizes {
		order.Mul(order, big.NewInt(int64(n)))
	}
	return order
}
