package trees

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints/internal/moves"
)

// Program returns the chunk program of a packing. Each root has K chunks, one for each
// tree; the chunks of equal trees are sent together. Sends are ordered by their distance
// from where data start, over all trees, so that no tree waits for another. inPlace makes
// the call's buffers overlap, as package collective defines. The error is lang's, for a
// program that is too large.
func (p *Packing) Program(inPlace bool) (*lang.Program, error) {
	spec := collective.Spec{Name: p.Collective, Ranks: p.Ranks, Chunks: p.K, Root: p.Root, InPlace: inPlace}
	return moves.Program("trees", spec, p.moves(1))
}

// AllReduce returns the chunk program of an allreduce that reduces over the trees of to,
// a reducescatter's packing, and then gathers over those of from, an allgather's. Both
// must be for the same ranks. The error is Packing.Program's.
func AllReduce(to, from *Packing, inPlace bool) (*lang.Program, error) {
	if to.Collective != "reducescatter" || from.Collective != "allgather" || to.Ranks != from.Ranks {
		return nil, fmt.Errorf("allreduce of %s over %d ranks and %s over %d: want reducescatter and allgather over as many",
			to.Collective, to.Ranks, from.Collective, from.Ranks)
	}
	k := to.K / gcd(to.K, from.K) * from.K
	spec := collective.Spec{Name: "allreduce", Ranks: to.Ranks, Chunks: to.Ranks * k, InPlace: inPlace}
	return moves.Program("trees", spec, append(to.moves(k/to.K), from.moves(k/from.K)...))
}

// moves lists the sends of all trees, with a number of chunks for each tree: those near
// the roots first if data leave the roots, and last if data flow to them.
func (p *Packing) moves(chunks int) []moves.Move {
	type step struct {
		depth int
		moves.Move
	}
	var list []step
	depth := make([]int, p.Ranks)
	next := make([]int, p.Ranks)
	for _, t := range p.Trees {
		depth[t.Root] = 0
		for _, e := range t.Edges {
			depth[e.Child] = depth[e.Parent] + 1
			m := moves.Move{From: e.Parent, To: e.Child, Root: t.Root, First: next[t.Root], Count: t.Count * chunks}
			if p.Reversed() {
				m.From, m.To, m.Reduce = m.To, m.From, true
			}
			list = append(list, step{depth[e.Child], m})
		}
		next[t.Root] += t.Count * chunks
	}
	slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.depth, b.depth) })
	if p.Reversed() {
		slices.Reverse(list)
	}
	all := make([]moves.Move, len(list))
	for i, s := range list {
		all[i] = s.Move
	}
	return all
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
