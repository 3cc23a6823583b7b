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
	// Whole tells that they generate every automorphism; otherwise the work was
	// bounded before all were looked for.
	Whole  bool
	points int
	orders []int // of the orbits of the picks, whose product is the group's order
}

// Limit is work enough for systems of some 64 ranks: less than a second's.
const Limit = 100_000_000

// search is looking for automorphisms.
type search struct {
	ctx   context.Context
	g     *Graph
	work  int // arcs and vertices still to look at
	path  []*partition
	picks []int // the vertex picked in each partition of the path but the last
}

// Find finds the automorphisms of a graph, looking at so many arcs and vertices
// at most, and at none once the context is over.
func Find(ctx context.Context, g *Graph, limit int) *Group {
	g.index()
	s := &search{ctx: ctx, g: g, work: limit}
	group := &Group{Whole: true, points: len(g.colours)}
	for p := s.start(); ; {
		s.path = append(s.path, p)
		cell := p.first()
		if cell < 0 {
			break
		}
		if s.work < 0 {
			group.Whole = false
			return group
		}
		s.picks = append(s.picks, p.members(cell)[0])
		p = s.pick(p, s.picks[len(s.picks)-1])
	}
	// From the last pick to the first: all that was found fixes the picks before
	// the one at hand, and so tells its alternatives' orbits.
	for level := len(s.picks) - 1; level >= 0; level-- {
		p, picked := s.path[level], s.picks[level]
		var failed []int
		alike := group.Orbits()
		for _, v := range p.members(p.cell[picked]) {
			if alike[v] == alike[picked] || slices.ContainsFunc(failed, func(f int) bool { return alike[f] == alike[v] }) {
				continue
			}
			image := s.reach(level, s.pick(p, v))
			switch {
			case image != nil:
				group.Generators = append(group.Generators, image)
				alike = group.Orbits()
			default:
				failed = append(failed, v)
			}
			if s.work < 0 {
				group.Whole = false
				break
			}
		}
		order := 0
		for _, a := range alike {
			if a == alike[picked] {
				order++
			}
		}
		group.orders = append(group.orders, order)
		if !group.Whole {
			return group
		}
	}
	return group
}

// reach finds an automorphism that takes the path's partition after the pick of
// a level to q, and so all the picks up to there; nil where there is none, or
// work has come to its end.
func (s *search) reach(level int, q *partition) []int {
	p := s.path[level+1]
	if s.work < 0 || q.cells != p.cells || q.trace != p.trace {
		return nil
	}
	if level+1 == len(s.picks) {
		at := make([]int, len(q.cell)) // by cell
		for v, c := range q.cell {
			at[c] = v
		}
		image := make([]int, len(p.cell))
		for v, c := range p.cell {
			image[v] = at[c]
		}
		s.work -= len(s.g.arcs)
		if s.g.keeps(image) {
			return image
		}
		return nil
	}
	for _, v := range q.members(p.cell[s.picks[level+1]]) {
		if s.work < 0 {
			return nil
		}
		if image := s.reach(level+1, s.pick(q, v)); image != nil {
			return image
		}
	}
	return nil
}

// Orbits tells which vertices the group takes to each other: those of one orbit
// have one number, the least vertex's.
func (g *Group) Orbits() []int { return Orbits(g.points, g.Generators) }

// Orbits are those of the points that permutations generate.
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

// Order is how many automorphisms the generators come to.
func (g *Group) Order() *big.Int {
	order := big.NewInt(1)
	for _, n := range g.orders {
		order.Mul(order, big.NewInt(int64(n)))
	}
	return order
}
