package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/topologies"
)

// ringsEverywhere finds rings through all ranks.
func (h *holes) ringsEverywhere(ctx context.Context, q question) ([][]int, error) {
	return h.widerRings(ctx, h.target.Topology, q)
}

// ringsOfNode finds rings through the first node's GPUs. A template uses them in
// every node, where its links are checked like all others.
func (h *holes) ringsOfNode(ctx context.Context, q question) ([][]int, error) {
	return h.widerRings(ctx, h.target.Topology.Node(0), q)
}

// ringsByBlocks finds rings that leave a node after each block of its GPUs, if
// their narrowest step is wider than that of rings that pass through node by node.
func (h *holes) ringsByBlocks(ctx context.Context, q question) ([][]int, error) {
	t := h.target.Topology
	blocks := h.blocks().Rings(q.count)
	if blocks == nil {
		return nil, nil
	}
	nodes, err := h.ringsEverywhere(ctx, q)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal): // it was reported already; only rings by blocks are left
	case err != nil:
		return nil, err
	case nodes == nil:
		nodes = inSequence(t, q.count)
	}
	if rings.Width(t, blocks) <= rings.Width(t, nodes) {
		return nil, nil
	}
	return blocks, nil
}

// widerRings finds rings for a family. It returns nil if the family has rings of its own
// that work here and are as wide. Where there are no rings the error is a *Refusal.
func (h *holes) widerRings(ctx context.Context, t *topologies.Topology, q question) ([][]int, error) {
	orders, err := h.solve(ctx, t, q)
	var refusal *Refusal
	switch {
	case q.open && errors.As(err, &refusal):
		return nil, nil // the family's own are used
	case err != nil:
		return nil, err
	case q.open && rings.Width(t, orders) <= rings.Width(t, inSequence(t, q.count)):
		return nil, nil
	}
	return orders, nil
}

// inSequence returns families' default rings: ranks in sequence, each ring entering the
// nodes one GPU later than the one before.
func inSequence(t *topologies.Topology, count int) (rings [][]int) {
	for k := range count {
		var ring []int
		for node := range t.Nodes {
			ranks := t.NodeRanks(node)
			shift := k % len(ranks)
			if t.Nodes == 1 {
				shift = 0
			}
			ring = append(append(ring, ranks[shift:]...), ranks[:shift]...)
		}
		rings = append(rings, ring)
	}
	return rings
}

// ringWork limits the solvers' work on the rings of a hole. The rings of the
// catalogue's systems, and of meshes, tori and hypercubes, are found without solvers.
const ringWork = 5 * time.Second

// hole identifies a search for rings, which is done once.
type hole struct {
	ranks, rings int
	open         bool // the family works without: only wider rings are of use
}

// found is a solved hole, or why it cannot be filled.
type found struct {
	rings [][]int
	err   error
}

// without returns the fewest rings, fewer than at's and through the same ranks, that
// do not exist or were not found, and why; ok reports whether there are any.
func (h *holes) without(at hole) (least struct {
	rings int
	why   string
}, ok bool) {
	for other, f := range h.rings {
		var refusal *Refusal
		if other.ranks == at.ranks && other.open == at.open && other.rings < at.rings && (!ok || other.rings < least.rings) && errors.As(f.err, &refusal) {
			least.rings, least.why, ok = other.rings, refusal.Detail, true
		}
	}
	return least, ok
}

// solve finds rings through all ranks of a topology, once for each hole, and checks
// them on the topology. Solvers are asked only if the family does not work without.
// Where there are no rings the error is a *Refusal.
func (h *holes) solve(ctx context.Context, t *topologies.Topology, q question) ([][]int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := hole{len(t.Ranks), q.count, q.open}
	if f, ok := h.rings[at]; ok {
		return f.rings, f.err
	}
	if fewer, ok := h.without(at); ok {
		// A part of more rings would be the fewer ones, but where they share links.
		f := found{nil, &Refusal{Reason: NoHole, Detail: fmt.Sprintf("not even %d: %s", fewer.rings, fewer.why)}}
		if orders := rings.Sharing(ctx, t, q.count); orders != nil {
			f = found{orders, nil}
		}
		h.rings[at] = f
		return f.rings, f.err
	}
	solvers, err := h.solvers.open()
	if err != nil {
		return nil, err
	}
	answer, err := rings.Find(ctx, solvers, t, rings.Options{Count: q.count, SolverWork: ringWork, NoSolver: q.open})
	var none *rings.NoRingError
	var late *rings.TimeoutError
	switch {
	case errors.As(err, &none), errors.As(err, &late):
		if err = (&Refusal{Reason: NoHole, Detail: err.Error()}); none == nil {
			break
		}
		if orders := rings.Sharing(ctx, t, q.count); orders != nil {
			answer.Orders, err = orders, nil
		}
	case err != nil:
		return nil, err // a solver was lost, which says nothing about the topology
	default:
		if err := rings.Check(t, answer.Orders); err != nil {
			return nil, fmt.Errorf("rings from %s: %w", answer.By, err)
		}
	}
	h.rings[at] = found{answer.Orders, err}
	return answer.Orders, err
}
