package bounds

import (
	"fmt"
	"math/big"
	"slices"
)

// spread bounds a collective in which each rank has a shard of the size, 1/n of
// it or as many of so many parts as it has a count, and each of sinks needs all of
// them: allgather with every rank a sink, gather with one; on the backward network
// reducescatter and scatter, whose data take the same ways the other way round.
//
// Let every rank put x parts a second into the network for each of its own. A set
// S of ranks with k parts that lacks some sink must let k·x parts a second out, so
// x is at most capacity out of S over k; the bound is the least of these
// (ForestColl, arXiv 2402.06787, section 4). A maximum flow towards a sink finds the set that
// breaks the x at hand, and with it a smaller x, until none breaks: Newton's
// method on a piecewise linear function, in exact fractions. A sink that
// suffers x suffers any smaller one, so each is left for good.
func (p *problem) spread(net *network, sinks []int) limit {
	parts := p.c.Counts
	if parts == nil {
		parts = slices.Repeat([]int{1}, p.n)
	}
	all := total(parts)
	f := newFlow(net)
	into := make([]int64, net.vertices)
	for _, a := range net.arcs {
		into[a.to] += a.capacity
	}
	// All ranks but one are a good first set.
	x := limit{}
	for _, v := range sinks {
		if others := all - int64(parts[v]); others > 0 {
			x.least(limit{algbw: big.NewRat(into[v], others), cut: but(p.n, v)})
		}
	}
	if x.algbw == nil {
		return x // there is nothing to move
	}
	looked := 0
	for _, v := range p.spaced(sinks) {
		for {
			p.look()
			// In units of 1/q: links carry q times their capacity, and every rank
			// puts in shards of p.
			shard, scale := x.algbw.Num().Int64(), x.algbw.Denom().Int64()
			f.reset(scale)
			for r := range p.n {
				f.from(r, int64(parts[r])*shard)
			}
			got := f.run(f.source, v)
			if got == all*shard || f.spent() {
				break
			}
			cut := f.side()
			k := among(parts, cut)
			x = limit{algbw: big.NewRat(got-(all-k)*shard, k), cut: cut}
			x.algbw.Quo(x.algbw, big.NewRat(scale, 1))
		}
		if f.spent() {
			p.unlooked(looked, len(sinks), "ranks that need all")
			break
		}
		looked++
	}
	k := among(parts, x.cut)
	out := new(big.Rat).Mul(x.algbw, big.NewRat(k, 1))
	if net == p.backward {
		x.cut = others(p.n, x.cut)
	}
	x.proof = fmt.Sprintf("%d/%d of the size must leave %s, through %s", k, all, ranks(x.cut), p.rate(out))
	x.algbw.Mul(x.algbw, big.NewRat(all, 1))
	return x
}

// among is the number of parts that the ranks of a set have.
func among(parts, set []int) (sum int64) {
	for _, r := range set {
		sum += int64(parts[r])
	}
	return sum
}

// fan bounds a collective in which one rank's whole buffer must reach every other:
// broadcast, and on the backward network reduce. It is the least of the maximum
// flows from the root (Edmonds).
func (p *problem) fan(net *network, root int) limit {
	_, v := p.narrowest(net, root, p.beside(root))
	f := newFlow(net)
	width := f.between(root, v) // not narrowest's, which may have ended before it came to v
	cut := f.side()
	if f.spent() {
		width, cut = net.alone(root), []int{root}
	}
	if net == p.backward {
		cut = others(p.n, cut)
	}
	return limit{algbw: big.NewRat(width, 1), cut: cut,
		proof: fmt.Sprintf("the whole size must leave %s, through %s", ranks(cut), p.rate(big.NewRat(width, 1)))}
}

// rate prints a capacity in GB/s.
func (p *problem) rate(units *big.Rat) string {
	r := new(big.Rat).Mul(units, big.NewRat(p.forward.unit, 1e9))
	return r.RatString() + " GB/s"
}

// ranks prints a set of ranks: rank 3, ranks 0-2, 5.
func ranks(set []int) string {
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

func but(n, rank int) []int { return slices.Delete(rising(n), rank, rank+1) }

func others(n int, set []int) []int {
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
