package greedy

import (
	"context"

	"github.com/colltune/colltune/topologies"
)

// nodePairs is the pairs of ranks in different nodes that a large network has hops for,
// because all pairs would be too many: GPUs with the same number in their nodes, and for
// a GPU without such a link, the first GPU that it is linked to.
//
//	all send and receive               0 ▶ 0   1 ▶ 1   2 ▶ 2   3 ▶ 3
//	1 and 3 send, 0 and 2 receive      1 ▶ 2   3 ▶ 0
type nodePairs struct {
	ranks  int
	chosen []uint64 // by pair
}

// newNodePairs chooses the pairs, or some of them if ctx ends.
func newNodePairs(ctx context.Context, t *topologies.Topology) *nodePairs {
	c := &nodePairs{ranks: len(t.Ranks)}
	c.chosen = make([]uint64, (c.ranks*c.ranks+63)/64)
	nodes := make([][]int, t.Nodes)
	for node := range nodes {
		nodes[node] = t.NodeRanks(node)
	}
	for _, from := range nodes {
		if ctx.Err() != nil {
			break
		}
		for _, to := range nodes {
			if from[0] != to[0] {
				c.choose(t, from, to)
			}
		}
	}
	return c
}

func (c *nodePairs) choose(t *topologies.Topology, from, to []int) {
	sends, receives := make([]bool, len(from)), make([]bool, len(to))
	try := func(i, j int) bool {
		if !t.Linked(from[i], to[j]) {
			return false
		}
		c.add(from[i], to[j])
		sends[i], receives[j] = true, true
		return true
	}
	for i, j := 0, 0; i < len(from) && j < len(to); {
		switch a, b := t.Ranks[from[i]].Local, t.Ranks[to[j]].Local; {
		case a < b:
			i++
		case a > b:
			j++
		default:
			try(i, j)
			i, j = i+1, j+1
		}
	}
	for i := range from {
		for k := 0; !sends[i] && k < len(to) && !try(i, (i+k)%len(to)); k++ {
		}
	}
	for j := range to {
		for k := 0; !receives[j] && k < len(from) && !try((j+k)%len(from), j); k++ {
		}
	}
}

func (c *nodePairs) add(from, to int) {
	at := from*c.ranks + to
	c.chosen[at/64] |= 1 << (at % 64)
}

func (c *nodePairs) has(from, to int) bool {
	at := from*c.ranks + to
	return c.chosen[at/64]>>(at%64)&1 == 1
}
