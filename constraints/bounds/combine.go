package bounds

import (
	"fmt"
	"math/big"
	"slices"
)

// combine bounds allreduce. Twice the allgather bound is no bound here: on a
// line of three, reducing into the middle and sending back beats it. Two
// arguments are sound.
//
// Cuts: for every set of ranks and every element, a value that depends on the
// set's inputs must leave it, so the whole size does.
//
// All traffic: take any partition of the ranks into k groups, and one element.
// Order messages between groups by arrival; a message tells no more than its
// sender's group knows then. Consider the first arrival after which some group
// knows every group's input. Those k inputs came together, so messages up to it
// connect all groups: at least k-1 of them. It informed one group alone, so
// each of the other k-1 receives a message later. Thus 2(k-1) messages of an
// element for each element, and 2(k-1) times the size leaves the groups
// together (one-way gossip; Harary and Schwenk 1974 for k persons).
func (p *problem) combine() (best limit) {
	for _, net := range []*network{p.forward, p.backward} {
		best.least(p.fan(net, 0))
	}
	if p.n <= exhaustive {
		best.least(p.partitions())
		return best
	}
	some, times := p.counted()
	best.least(p.gossip("ranks", p.n, func(r int) int { return r }, some, times))
	if p.t.Nodes > 1 {
		some, times := rising(p.t.Nodes), slices.Repeat([]int64{1}, p.t.Nodes)
		if p.alike {
			some, times = []int{0}, []int64{int64(p.t.Nodes)}
		}
		best.least(p.gossip("nodes", p.t.Nodes, func(r int) int { return p.t.Ranks[r].Node }, some, times))
	}
	if !p.alike && p.n <= manyBlocks {
		for size := 2; size*2 <= p.n; size++ {
			if p.n%size == 0 {
				best.least(p.gossip(fmt.Sprintf("blocks of %d ranks", size), p.n/size, func(r int) int { return r / size }, rising(p.n/size), slices.Repeat([]int64{1}, p.n/size)))
			}
		}
	}
	return best
}

// composed is what a reducescatter followed by an allgather achieves.
func (p *problem) composed() *big.Rat {
	first, second := rules["reducescatter"](p).algbw, rules["allgather"](p).algbw
	both := new(big.Rat).Mul(first, second)
	return both.Quo(both, new(big.Rat).Add(first, second))
}

// manyBlocks is the largest system for which partitions into equal blocks are
// tried.
const manyBlocks = 512

// gossip is the bound on all traffic for one partition into groups: what must
// leave them against what can, and the same for what must enter. Some of the groups
// are looked at, which stand for so many each.
func (p *problem) gossip(name string, groups int, group func(rank int) int, some []int, times []int64) (best limit) {
	inside := make([]bool, p.n)
	for _, net := range []*network{p.forward, p.backward} {
		f := newFlow(net)
		total := new(big.Int)
		for i, g := range some {
			p.look()
			for r := range inside {
				inside[r] = group(r) == g
			}
			out := big.NewInt(f.leaving(inside))
			if f.spent() {
				p.unlooked(i, len(some), name)
				return limit{}
			}
			total.Add(total, out.Mul(out, big.NewInt(times[i])))
		}
		rate := new(big.Rat).SetInt(total)
		verb := "leave"
		if net == p.backward {
			verb = "enter"
		}
		best.least(limit{algbw: new(big.Rat).Mul(rate, big.NewRat(1, int64(2*(groups-1)))),
			proof: fmt.Sprintf("%d times the size must %s the %d %s, which can do %s together", 2*(groups-1), verb, groups, name, p.rate(rate))})
	}
	return best
}
