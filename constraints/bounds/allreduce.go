package bounds

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// allReduce bounds allreduce. Twice the least time of an allgather is not a lower bound:
// on a line of three ranks, reducing into the middle and sending back takes less. Two
// arguments are sound.
//
// Cuts: for every set of ranks and every element, a value that depends on the set's
// inputs must leave it. So the whole size leaves every set of ranks.
//
// Partitions: take any partition of the ranks into k groups, and one element. Order the
// messages between groups by arrival. Consider the first arrival after which some group
// has every group's input. The messages up to it connect all groups, so there are at
// least k-1. Only that one group has all inputs then, so each of the other k-1 receives
// a message later. That makes 2(k-1) messages for each element, so 2(k-1) times the
// size leaves the groups together (one-way gossip: Harary and Schwenk 1974).
func (p *problem) allReduce() (best bandwidthBound) {
	for _, net := range []*scaledNetwork{p.forward, p.backward} {
		best.tighten(p.fromRoot(net, 0))
	}
	if p.n <= maxExhaustiveRanks {
		best.tighten(p.allPartitions())
		return best
	}
	some, times := p.weighted()
	best.tighten(p.partitionBound("ranks", p.n, func(r int) int { return r }, some, times))
	if p.t.Nodes > 1 {
		some, times := lists.UpTo(p.t.Nodes), slices.Repeat([]int64{1}, p.t.Nodes)
		if p.nodesInterchangeable {
			some, times = []int{0}, []int64{int64(p.t.Nodes)}
		}
		best.tighten(p.partitionBound("nodes", p.t.Nodes, func(r int) int { return p.t.Ranks[r].Node }, some, times))
	}
	if !p.nodesInterchangeable && p.n <= maxBlockRanks {
		for size := 2; size*2 <= p.n; size++ {
			if p.n%size == 0 {
				best.tighten(p.partitionBound(fmt.Sprintf("blocks of %d ranks", size), p.n/size, func(r int) int { return r / size }, lists.UpTo(p.n/size), slices.Repeat([]int64{1}, p.n/size)))
			}
		}
	}
	return best
}

// composed returns the bandwidth of a reducescatter followed by an allgather, each at
// its bound.
func (p *problem) composed() *big.Rat {
	first, second := bandwidthRules["reducescatter"](p).algbw, bandwidthRules["allgather"](p).algbw
	both := new(big.Rat).Mul(first, second)
	return both.Quo(both, new(big.Rat).Add(first, second))
}

// maxBlockRanks is the largest system, in ranks, for which partitions into equal
// blocks are tried.
const maxBlockRanks = 512

// partitionBound is the bound of a partition into groups: 2(k-1) times the size against
// the capacity out of all groups together, and the same for the capacity into them.
// Only the groups in some are examined; some[i] stands for times[i] groups.
func (p *problem) partitionBound(name string, groups int, group func(rank int) int, some []int, times []int64) (best bandwidthBound) {
	inside := make([]bool, p.n)
	for _, net := range []*scaledNetwork{p.forward, p.backward} {
		f := newFlow(net)
		total := new(big.Int)
		for i, g := range some {
			if p.ended() {
				return bandwidthBound{}
			}
			for r := range inside {
				inside[r] = group(r) == g
			}
			out := big.NewInt(f.capacityOut(inside))
			if f.limitReached() {
				p.skip(i, len(some), name)
				return bandwidthBound{}
			}
			total.Add(total, out.Mul(out, big.NewInt(times[i])))
		}
		rate := new(big.Rat).SetInt(total)
		verb := "leave"
		if net == p.backward {
			verb = "enter"
		}
		best.tighten(bandwidthBound{algbw: new(big.Rat).Mul(rate, big.NewRat(1, int64(2*(groups-1)))),
			proof: fmt.Sprintf("%d times the size must %s the %d %s, which can do %s together", 2*(groups-1), verb, groups, name, p.formatRate(rate))})
	}
	return best
}
