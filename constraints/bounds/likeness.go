package bounds

import (
	"slices"
)

// Where ranks may change places, what is found for one of them holds for all. A few
// ranks stand for a collective's, and so many flows less are looked for.

// everywhere are the collectives of which every rank does the same.
var everywhere = []string{"allgather", "reducescatter", "allreduce", "alltoall"}

// fewLinks is how many links a rank may have for symmetries to be found sooner than
// flows: where there are more, or switches, ways are short.
const fewLinks = 16

// representatives are ranks such that every other is like one of them.
func (p *problem) representatives() []int {
	sources, _ := p.counted()
	return sources
}

// counted are representatives, and how many ranks each stands for.
func (p *problem) counted() (sources []int, times []int64) {
	switch {
	case p.alike:
		sources = p.t.NodeRanks(0)
		return sources, slices.Repeat([]int64{int64(p.t.Nodes)}, len(sources))
	case slices.Contains(everywhere, p.c.Name) && p.sooner():
		o := p.orbits(everyPair)
		return o.sources, o.times
	}
	return rising(p.n), slices.Repeat([]int64{1}, p.n)
}

// sooner reports whether symmetries are found sooner than flows.
func (p *problem) sooner() bool {
	if p.n <= fewRanks || p.c.Counts != nil {
		return false
	}
	net := p.forward
	return net.vertices == p.n && len(net.arcs) <= fewLinks*p.n || p.ranksAlike() != nil
}

// beside are representatives of the ranks as seen from one of them, but for itself:
// its own node, and one other node where those are all alike.
func (p *problem) beside(rank int) []int {
	if !p.alike {
		if p.n > fewRanks && p.c.Counts == nil && p.ranksAlike() != nil {
			return but(2, min(rank, 1))[:1]
		}
		return but(p.n, rank)
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
