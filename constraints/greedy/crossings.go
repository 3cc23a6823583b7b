package greedy

import "github.com/colltune/colltune/topologies"

// crossings are the pairs of ranks in different nodes that a large network has hops
// for, as all would be too many: GPUs with the same number in their nodes, and for a
// GPU that has no way there or from there, the first that it has one with.
//
//	all send and receive               0 ▶ 0   1 ▶ 1   2 ▶ 2   3 ▶ 3
//	1 and 3 send, 0 and 2 receive      1 ▶ 2   3 ▶ 0
type crossings struct {
	ranks int
	kept  []uint64 // by pair
}

// newCrossings chooses the pairs; look is called now and then.
func newCrossings(t *topologies.Topology, look func()) *crossings {
	c := &crossings{ranks: len(t.Ranks)}
	c.kept = make([]uint64, (c.ranks*c.ranks+63)/64)
	nodes := make([][]int, t.Nodes)
	for node := range nodes {
		nodes[node] = t.NodeRanks(node)
	}
	for _, from := range nodes {
		look()
		for _, to := range nodes {
			if from[0] != to[0] {
				c.join(t, from, to)
			}
		}
	}
	return c
}

// join chooses pairs that lead from one node to another.
func (c *crossings) join(t *topologies.Topology, from, to []int) {
	sends, receives := make([]bool, len(from)), make([]bool, len(to))
	try := func(i, j int) bool {
		if !t.Linked(from[i], to[j]) {
			return false
		}
		c.keep(from[i], to[j])
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

func (c *crossings) keep(from, to int) {
	at := from*c.ranks + to
	c.kept[at/64] |= 1 << (at % 64)
}

func (c *crossings) has(from, to int) bool {
	at := from*c.ranks + to
	return c.kept[at/64]>>(at%64)&1 == 1
}
