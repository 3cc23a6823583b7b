package trees

import (
	"context"
	"math/big"
	"slices"
)

// grove is the state of trees while links are exchanged between them.
type grove struct {
	*stepProblem
	trees [][]int
	depth [][]int
	load  load
	width *big.Rat
	room  map[int]int // by edge: how often it may be taken at that width
}

// shallower makes trees shallower, in place, without any edge being taken more
// often than a width allows. It moves a rank nearer to the root if there is room,
// or in exchange for the link by which another tree reaches it. It ends when no
// such step makes the deepest tree shallower or, at equal depth, reduces the sum
// of all depths, or when the context is over.
func (p *stepProblem) shallower(ctx context.Context, trees [][]int, width *big.Rat) {
	g := &grove{stepProblem: p, trees: trees, load: p.loadOf(trees), width: width, room: map[int]int{}}
	for i := range trees {
		g.depth = append(g.depth, depths(trees[i]))
	}
	for again := true; again; {
		again = false
		for i := range trees {
			for child := range p.n {
				if ctx.Err() != nil {
					return
				}
				again = g.nearer(i, child) || again
			}
		}
	}
}

// depths are the steps from the root to every rank, or nil if parents do not form
// a tree.
func depths(parents []int) []int {
	depth := make([]int, len(parents))
	for r := range parents {
		for at := parents[r]; at >= 0; at = parents[at] {
			if depth[r]++; depth[r] >= len(parents) {
				return nil
			}
		}
	}
	return depth
}

// total is the greatest depth, and the sum of all depths.
func (g *grove) total() [2]int {
	var t [2]int
	for _, depth := range g.depth {
		for _, d := range depth {
			t[0] = max(t[0], d)
			t[1] += d
		}
	}
	return t
}

// nearer moves a rank of a tree nearer to the root, if possible.
func (g *grove) nearer(tree, child int) bool {
	old := g.trees[tree][child]
	if old < 0 {
		return false
	}
	before := g.total()
	for parent := range g.n {
		s := g.step(parent, child)
		if s == nil || g.depth[tree][parent] >= g.depth[tree][old] {
			continue // this also excludes what is below the child, which is deeper
		}
		g.hang(tree, child, parent)
		if g.fits(s) {
			return true
		}
		// Otherwise another tree that reaches the child may give up its link for
		// one that is free.
		for other := range g.trees {
			if other == tree || g.trees[other][child] != parent {
				continue
			}
			for instead := range g.n {
				t := g.step(instead, child)
				if t == nil || instead == parent || g.below(other, instead, child) {
					continue
				}
				g.hang(other, child, instead)
				if g.fits(s) && g.fits(t) {
					if after := g.total(); slices.Compare(after[:], before[:]) < 0 {
						return true
					}
				}
				g.hang(other, child, parent)
			}
		}
		g.hang(tree, child, old)
	}
	return false
}

// below reports whether a rank is child, or below it.
func (g *grove) below(tree, rank, child int) bool {
	for ; rank >= 0; rank = g.trees[tree][rank] {
		if rank == child {
			return true
		}
	}
	return false
}

// hang gives a rank of a tree another parent.
func (g *grove) hang(tree, child, parent int) {
	g.load.add(g.step(g.trees[tree][child], child), -1)
	g.load.add(g.step(parent, child), 1)
	g.trees[tree][child] = parent
	g.depth[tree] = depths(g.trees[tree])
}

// fits reports whether the edges of a step are taken no more often than allowed.
func (g *grove) fits(s *step) bool {
	for way, edges := range s.edges {
		for _, e := range edges {
			room, ok := g.room[e]
			if !ok {
				room = g.most(e, g.width)
				g.room[e] = room
			}
			if g.load[way][e] > room {
				return false
			}
		}
	}
	return true
}
