package trees

import (
	"context"
	"math/big"
	"slices"
)

// treeExchange is the state of trees while links are exchanged between them.
type treeExchange struct {
	*stepProblem
	trees [][]int
	depth [][]int
	load  load
	width *big.Rat
	room  map[int]int // by edge: how often it may be used at that width
}

// shallower makes trees shallower, in place, without using any edge more often than a
// width allows. It moves a rank closer to the root if there is room, or in exchange for
// the link by which another tree reaches it. It ends when no move reduces the greatest
// depth or, at equal depth, the sum of all depths, or when the context ends.
func (p *stepProblem) shallower(ctx context.Context, trees [][]int, width *big.Rat) {
	g := &treeExchange{stepProblem: p, trees: trees, load: p.loadOf(trees), width: width, room: map[int]int{}}
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
				again = g.moveCloser(i, child) || again
			}
		}
	}
}

// depths returns the depth of every rank, or nil if parents do not form a tree.
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

// depthScore returns the greatest depth, and the sum of all depths.
func (g *treeExchange) depthScore() [2]int {
	var t [2]int
	for _, depth := range g.depth {
		for _, d := range depth {
			t[0] = max(t[0], d)
			t[1] += d
		}
	}
	return t
}

// moveCloser moves a rank of a tree closer to the root, if possible.
func (g *treeExchange) moveCloser(tree, child int) bool {
	old := g.trees[tree][child]
	if old < 0 {
		return false
	}
	before := g.depthScore()
	for parent := range g.n {
		s := g.step(parent, child)
		if s == nil || g.depth[tree][parent] >= g.depth[tree][old] {
			continue // this also excludes the child's descendants
		}
		g.reattach(tree, child, parent)
		if g.fitsWidth(s) {
			return true
		}
		// Otherwise another tree that reaches the child over this link may use a free
		// one instead.
		for other := range g.trees {
			if other == tree || g.trees[other][child] != parent {
				continue
			}
			for instead := range g.n {
				t := g.step(instead, child)
				if t == nil || instead == parent || g.isDescendant(other, instead, child) {
					continue
				}
				g.reattach(other, child, instead)
				if g.fitsWidth(s) && g.fitsWidth(t) {
					if after := g.depthScore(); slices.Compare(after[:], before[:]) < 0 {
						return true
					}
				}
				g.reattach(other, child, parent)
			}
		}
		g.reattach(tree, child, old)
	}
	return false
}

// isDescendant reports whether a rank is child or one of its descendants.
func (g *treeExchange) isDescendant(tree, rank, child int) bool {
	for ; rank >= 0; rank = g.trees[tree][rank] {
		if rank == child {
			return true
		}
	}
	return false
}

// reattach gives a rank of a tree another parent.
func (g *treeExchange) reattach(tree, child, parent int) {
	g.load.add(g.step(g.trees[tree][child], child), -1)
	g.load.add(g.step(parent, child), 1)
	g.trees[tree][child] = parent
	g.depth[tree] = depths(g.trees[tree])
}

// fitsWidth reports whether the edges of a step are used no more often than allowed.
func (g *treeExchange) fitsWidth(s *step) bool {
	for way, edges := range s.edges {
		for _, e := range edges {
			room, ok := g.room[e]
			if !ok {
				room = g.maxUses(e, g.width)
				g.room[e] = room
			}
			if g.load[way][e] > room {
				return false
			}
		}
	}
	return true
}
