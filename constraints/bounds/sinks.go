package bounds

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// allToSinks bounds a collective in which each rank has a shard of the size (1/n, or its
// count over the sum of counts) and each sink needs all shards: allgather, where every
// rank is a sink, and gather, where one is. On the reversed network it bounds
// reducescatter and scatter.
//
// Let every rank inject x parts a second for each of its own. A set S of ranks that has k
// parts and lacks some sink must pass on k·x parts a second, so x is at most the capacity
// out of S over k. The bound is the least of these (ForestColl, arXiv 2402.06787,
// section 4). A maximum flow towards a sink finds a set that violates the present x, and
// with it a smaller x, until none does: Newton's method on a piecewise linear function,
// in exact fractions. A sink that admits x admits any smaller x, so each sink is examined
// once.
func (p *problem) allToSinks(net *scaledNetwork, sinks []int) bandwidthBound {
	parts := p.c.Counts
	if parts == nil {
		parts = slices.Repeat([]int{1}, p.n)
	}
	all := total(parts)
	f := newFlow(net)
	into := make([]int64, net.Vertices)
	for _, a := range net.Arcs {
		into[a.To] += a.Capacity
	}
	// All ranks but one are a good first set.
	x := bandwidthBound{}
	for _, v := range sinks {
		if others := all - int64(parts[v]); others > 0 {
			x.tighten(bandwidthBound{algbw: big.NewRat(into[v], others), cut: allBut(p.n, v)})
		}
	}
	if x.algbw == nil {
		return x // nothing has to move
	}
	looked := 0
	for _, v := range p.spreadOut(sinks) {
		for !p.ended() {
			// In units of 1/q: links carry q times their capacity, and every rank
			// puts in shards of p.
			shard, scale := x.algbw.Num().Int64(), x.algbw.Denom().Int64()
			f.reset(scale)
			for r := range p.n {
				f.setSource(r, int64(parts[r])*shard)
			}
			got := f.run(f.source, v)
			if got == all*shard || f.limitReached() {
				break
			}
			cut := f.sourceSide()
			k := partsOf(parts, cut)
			x = bandwidthBound{algbw: big.NewRat(got-(all-k)*shard, k), cut: cut}
			x.algbw.Quo(x.algbw, big.NewRat(scale, 1))
		}
		if f.limitReached() {
			p.skip(looked, len(sinks), "ranks that need all")
			break
		}
		looked++
	}
	k := partsOf(parts, x.cut)
	out := new(big.Rat).Mul(x.algbw, big.NewRat(k, 1))
	if net == p.backward {
		x.cut = complement(p.n, x.cut)
	}
	x.proof = fmt.Sprintf("%d/%d of the size must leave %s, through %s", k, all, formatRanks(x.cut), p.formatRate(out))
	x.algbw.Mul(x.algbw, big.NewRat(all, 1))
	return x
}

func partsOf(parts, set []int) (sum int64) {
	for _, r := range set {
		sum += int64(parts[r])
	}
	return sum
}

// fromRoot bounds a collective in which one rank's whole buffer must reach every other:
// broadcast, and on the reversed network reduce. The bound is the least of the maximum
// flows from the root (Edmonds 1973).
func (p *problem) fromRoot(net *scaledNetwork, root int) bandwidthBound {
	_, v := p.minRootedCut(net, root, p.otherRepresentatives(root))
	f := newFlow(net)
	width := f.maxFlow(root, v) // minRootedCut may have met its limit before it reached v
	cut := f.sourceSide()
	if f.limitReached() {
		width, cut = net.capacityOut(root), []int{root}
	}
	if net == p.backward {
		cut = complement(p.n, cut)
	}
	return bandwidthBound{algbw: big.NewRat(width, 1), cut: cut,
		proof: fmt.Sprintf("the whole size must leave %s, through %s", formatRanks(cut), p.formatRate(big.NewRat(width, 1)))}
}

// formatRate prints a capacity in GB/s.
func (p *problem) formatRate(units *big.Rat) string {
	r := new(big.Rat).Mul(units, big.NewRat(p.forward.unit, 1e9))
	return r.RatString() + " GB/s"
}

// formatRanks prints a set of ranks: rank 3, ranks 0-2, 5.
func formatRanks(set []int) string {
	if len(set) == 1 {
		return fmt.Sprintf("rank %d", set[0])
	}
	s, sep, runs := "ranks ", "", 0
	for i := 0; i < len(set); {
		j := i
		for j+1 < len(set) && set[j+1] == set[j]+1 {
			j++
		}
		if runs++; runs > 8 {
			return s + fmt.Sprintf(", … (%d ranks)", len(set))
		}
		if s += fmt.Sprintf("%s%d", sep, set[i]); j > i {
			s += fmt.Sprintf("-%d", set[j])
		}
		i, sep = j+1, ", "
	}
	return s
}

func allBut(n, rank int) []int { return slices.Delete(lists.UpTo(n), rank, rank+1) }

func complement(n int, set []int) []int {
	in := make([]bool, n)
	for _, r := range set {
		in[r] = true
	}
	var rest []int
	for r := range n {
		if !in[r] {
			rest = append(rest, r)
		}
	}
	return rest
}
