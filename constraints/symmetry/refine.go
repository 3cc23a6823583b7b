package symmetry

import (
	"cmp"
	"slices"
)

// partition gives every vertex a colour: its cell's place among all cells. It
// depends on the graph and the picks that led to it, not on how vertices are
// numbered.
type partition struct {
	cell  []int // by vertex
	cells int
	// trace sums up what refining it saw: where that differs, no automorphism
	// takes one partition to the other.
	trace uint64
}

// mix scrambles a number (the finalizer of SplitMix64): sums of scrambled
// numbers tell multisets apart but for rare luck, which costs a trial and never
// truth, as automorphisms are held to the graph.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// start is the partition by the vertices' own colours.
func (s *search) start() *partition {
	p := &partition{cell: make([]int, len(s.g.colours))}
	seen := slices.Clone(s.g.colours)
	slices.Sort(seen)
	seen = slices.Compact(seen)
	for v, c := range s.g.colours {
		p.cell[v], _ = slices.BinarySearch(seen, c)
	}
	p.cells = len(seen)
	s.refine(p)
	return p
}

// pick is a partition with one vertex put before its cell's others.
func (s *search) pick(p *partition, vertex int) *partition {
	q := &partition{cell: slices.Clone(p.cell), cells: p.cells + 1, trace: p.trace}
	for v, c := range q.cell {
		if c > p.cell[vertex] || c == p.cell[vertex] && v != vertex {
			q.cell[v]++
		}
	}
	s.refine(q)
	return q
}

// refine tells vertices of one cell apart by the cells and colours of their
// arcs, until that tells no more, or there is no time: then no work is left.
func (s *search) refine(p *partition) {
	g := s.g
	n := len(p.cell)
	seen := make([]uint64, n)
	order := make([]int, n)
	for {
		if s.ctx.Err() != nil {
			s.work = -1
			return
		}
		s.work -= len(g.arcs) + n
		clear(seen)
		for _, a := range g.arcs {
			colour := mix(uint64(a.colour) + 1)
			seen[a.from] += mix(colour + 2*uint64(p.cell[a.to]))
			seen[a.to] += mix(colour + 2*uint64(p.cell[a.from]) + 1)
		}
		p.inCells(order, func(cell []int) {
			slices.SortFunc(cell, func(a, b int) int { return cmp.Compare(seen[a], seen[b]) })
		})
		cells := 0
		next := make([]int, n)
		for i, v := range order {
			if i > 0 && (p.cell[v] != p.cell[order[i-1]] || seen[v] != seen[order[i-1]]) {
				cells++
			}
			next[v] = cells
			p.trace = mix(p.trace + seen[v] + uint64(cells))
		}
		done := cells+1 == p.cells
		p.cell, p.cells = next, cells+1
		if done {
			return
		}
	}
}

// inCells fills order with the vertices by cell, and calls sort for those of each
// cell of several.
func (p *partition) inCells(order []int, sort func(cell []int)) {
	end := make([]int, p.cells+1)
	for _, c := range p.cell {
		end[c+1]++
	}
	for c := range p.cells {
		end[c+1] += end[c]
	}
	next := slices.Clone(end)
	for v, c := range p.cell {
		order[next[c]] = v
		next[c]++
	}
	for c := range p.cells {
		if end[c+1]-end[c] > 1 {
			sort(order[end[c]:end[c+1]])
		}
	}
}

// members lists the vertices of a cell, rising.
func (p *partition) members(cell int) []int {
	var all []int
	for v, c := range p.cell {
		if c == cell {
			all = append(all, v)
		}
	}
	return all
}

// first is the first cell of several vertices, -1 where there is none.
func (p *partition) first() int {
	size := make([]int, p.cells)
	for _, c := range p.cell {
		size[c]++
	}
	return slices.IndexFunc(size, func(n int) bool { return n > 1 })
}
