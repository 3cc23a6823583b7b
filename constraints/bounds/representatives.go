package bounds

import (
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// If ranks are interchangeable, a result for one of them holds for all, so flows are
// only computed for one rank of each orbit.

// symmetricCollectives are the collectives in which every rank has the same role.
var symmetricCollectives = []string{"allgather", "reducescatter", "allreduce", "alltoall"}

// maxDirectLinks is the average number of links of a rank up to which symmetries are
// found faster than flows are computed. With more links, or switches, paths are short
// and flows fast.
const maxDirectLinks = 16

// representatives lists one rank of each orbit.
func (p *problem) representatives() []int {
	sources, _ := p.weighted()
	return sources
}

// weighted returns the representatives, and how many ranks each stands for.
func (p *problem) weighted() (sources []int, times []int64) {
	switch {
	case p.nodesInterchangeable:
		sources = p.t.NodeRanks(0)
		return sources, slices.Repeat([]int64{int64(p.t.Nodes)}, len(sources))
	case slices.Contains(symmetricCollectives, p.c.Name) && p.useSymmetry():
		o := p.orbits(allPairs)
		return o.sources, o.times
	}
	return lists.UpTo(p.n), slices.Repeat([]int64{1}, p.n)
}

// useSymmetry reports whether symmetries are found faster than flows.
func (p *problem) useSymmetry() bool {
	if p.n <= maxSmallRanks || p.c.Counts != nil {
		return false
	}
	net := p.forward
	return net.Vertices == p.n && len(net.Arcs) <= maxDirectLinks*p.n || p.allPermutations() != nil
}

// otherRepresentatives lists ranks that stand for all ranks other than the given one, as
// seen from that rank: those of its own node and of one other node if nodes are
// interchangeable.
func (p *problem) otherRepresentatives(rank int) []int {
	if !p.nodesInterchangeable {
		if p.n > maxSmallRanks && p.c.Counts == nil && p.allPermutations() != nil {
			return allBut(2, min(rank, 1))[:1]
		}
		return allBut(p.n, rank)
	}
	own := p.t.Ranks[rank].Node
	other := 0
	if own == 0 {
		other = 1
	}
	ranks := append(p.t.NodeRanks(own), p.t.NodeRanks(other)...)
	slices.Sort(ranks)
	return slices.DeleteFunc(ranks, func(r int) bool { return r == rank })
}
