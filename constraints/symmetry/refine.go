package symmetry

import (
	"cmp"
	"slices"
)

// partition is an ordered partition of the vertices into cells. It depends on the
// graph and on the individualized vertices, not on the numbering of vertices.
type partition struct {
	cell  []int // by vertex: the number of its cell
	cells int
	// trace is a hash of the refinement. If the traces of two partitions differ, no
	// automorphism maps one to the other.
	trace uint64
}

// hash is the finalizer of SplitMix64. Sums of hashes identify multisets, except for
// rare collisions. These cost a trial but no correctness, because every automorphism
// is checked against the graph.
func hash(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// initialPartition returns the refined partition by the vertices' own colours.
func (s *search) initialPartition() *partition {
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

// individualize returns the refined partition in which a vertex comes before the
// others of its cell.
func (s *search) individualize(p *partition, vertex int) *partition {
	q := &partition{cell: slices.Clone(p.cell), cells: p.cells + 1, trace: p.trace}
	for v, c := range q.cell {
		if c > p.cell[vertex] || c == p.cell[vertex] && v != vertex {
			q.cell[v]++
		}
	}
	s.refine(q)
	return q
}

// refine splits cells by the cells and colours of their vertices' arcs until nothing
// changes. If the context ends, it sets the work left to -1.
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
			colour := hash(uint64(a.colour) + 1)
			seen[a.from] += hash(colour + 2*uint64(p.cell[a.to]))
			seen[a.to] += hash(colour + 2*uint64(p.cell[a.from]) + 1)
		}
		p.sortCells(order, func(cell []int) {
			slices.SortFunc(cell, func(a, b int) int { return cmp.Compare(seen[a], seen[b]) })
		})
		cells := 0
		next := make([]int, n)
		for i, v := range order {
			if i > 0 && (p.cell[v] != p.cell[order[i-1]] || seen[v] != seen[order[i-1]]) {
				cells++
			}
			next[v] = cells
			p.trace = hash(p.trace + seen[v] + uint64(cells))
		}
		done := cells+1 == p.cells
		p.cell, p.cells = next, cells+1
		if done {
			return
		}
	}
}

// sortCells fills order with the vertices by cell, and calls sort for each cell of
// two or more.
func (p *partition) sortCells(order []int, sort func(cell []int)) {
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

// members lists the vertices of a cell in rising order.
func (p *partition) members(cell int) []int {
	var all []int
	for v, c := range p.cell {
		if c == cell {
			all = append(all, v)
		}
	}
	return all
}

// targetCell returns the first cell of two or more vertices, or -1 if there is none.
func (p *partition) targetCell() int {
	size := make([]int, p.cells)
	for _, c := range p.cell {
		size[c]++
	}
	return slices.IndexFunc(size, func(n int) bool { return n > 1 })
}
