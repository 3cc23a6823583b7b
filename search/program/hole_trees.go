package program

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/trees"
	"github.com/colltune/colltune/topologies"
)

// Trees finds n trees that share no link for a collective on a topology, as the
// value of a hole of trees. The error is a *trees.NoTreesError if there are none.
// If data go one way, the trees are the root's; if both ways, those of the rank
// nearest to all others.
func Trees(ctx context.Context, t *topologies.Topology, collective string, root, n int) ([][]int, error) {
	o := trees.DisjointOptions{Count: n, Root: trees.Anywhere, Down: true, Up: true}
	switch collective {
	case "broadcast", "scatter", "scatterv":
		o.Root, o.Up = root, false
	case "reduce", "gather", "gatherv":
		o.Root, o.Down = root, false
	}
	found, err := trees.Disjoint(ctx, t, o)
	if err != nil {
		return nil, err
	}
	if err := constraints.CheckTrees(t, found.Parents, o.Down, o.Up); err != nil {
		return nil, fmt.Errorf("trees that share no link: %w", err)
	}
	return found.Parents, nil
}

// mostParents limits the parents of all trees together, to 16 trees of the largest
// number of ranks, which take about 10 s.
const mostParents = 16 * trees.MaxDisjointRanks

// parents fills a hole of trees with their parents by rank. If every two ranks are
// linked, the built-in families' own trees work, so that trees are only looked for
// if the family was asked for. Where there are none the error is a *Refusal.
func (h *holes) parents(ctx context.Context, q question) ([][]int, error) {
	ranks := len(h.target.Topology.Ranks)
	asked := q.family.Source != "builtin" || slices.Contains(h.families, q.family.Name)
	switch {
	case ranks < 2, !asked && (ranks > trees.MaxDisjointRanks || complete(h.target.Topology)):
		return nil, nil
	case ranks > trees.MaxDisjointRanks:
		return nil, &Refusal{Reason: NotApplicable, Detail: fmt.Sprintf("trees take too long to find for %d ranks: want at most %d", ranks, trees.MaxDisjointRanks)}
	case ranks*q.count > mostParents:
		return nil, &Refusal{Reason: NotApplicable, Detail: fmt.Sprintf("%d trees take too long to find for %d ranks: want at most %d", q.count, ranks, mostParents/ranks)}
	}
	found, err := Trees(ctx, h.target.Topology, h.target.Collective, h.target.Root, q.count)
	var none *trees.NoTreesError
	switch {
	case errors.As(err, &none):
		return nil, &Refusal{Reason: NoHole, Detail: err.Error()}
	case err != nil:
		return nil, err
	}
	return found, nil
}

// complete reports whether every two ranks are linked.
func complete(t *topologies.Topology) bool {
	n := len(t.Ranks)
	for a := range n {
		for b := range n {
			if a != b && !t.Linked(a, b) {
				return false
			}
		}
	}
	return true
}
