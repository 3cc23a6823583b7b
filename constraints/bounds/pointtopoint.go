package bounds

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// demand is who sends how much to whom in a collective that neither combines nor
// copies. A pair's share of the size is its parts divided by part.
type demand struct {
	every bool              // every rank sends the same amount to every other
	part  func(n int) int64 // parts in the size, on n ranks
	// to yields the ranks that a rank sends to, and their parts.
	to func(n, rank int, yield func(to int, parts int64))
}

var (
	allPairs = demand{
		every: true,
		part:  func(n int) int64 { return int64(n) },
		to: func(n, rank int, yield func(int, int64)) {
			for to := range n {
				if to != rank {
					yield(to, 1)
				}
			}
		}}
	nextRank = demand{
		part: func(int) int64 { return 1 },
		to: func(n, rank int, yield func(int, int64)) {
			if rank+1 < n {
				yield(rank+1, 1)
			}
		}}
	ringNext = demand{
		part: func(int) int64 { return 1 },
		to:   func(n, rank int, yield func(int, int64)) { yield((rank+1)%n, 1) },
	}
)

// countedPairs returns the demand of an alltoall with a count for each pair of ranks.
func countedPairs(counts []int) demand {
	return demand{
		part: func(int) int64 { return total(counts) },
		to: func(n, rank int, yield func(int, int64)) {
			for to := range n {
				if parts := counts[rank*n+to]; to != rank && parts > 0 {
					yield(to, int64(parts))
				}
			}
		}}
}

func total(counts []int) (sum int64) {
	for _, c := range counts {
		sum += int64(c)
	}
	return sum
}

// leaving returns the number of parts that must leave a set of ranks.
func (d demand) leaving(inside []bool) (count int64) {
	if d.every { // only the size of the set matters
		for _, in := range inside {
			if in {
				count++
			}
		}
		return count * (int64(len(inside)) - count)
	}
	for r, in := range inside {
		if in {
			d.to(len(inside), r, func(to int, parts int64) {
				if !inside[to] {
					count += parts
				}
			})
		}
	}
	return count
}

// pointToPoint bounds alltoall, alltonext and sendrecv by cuts, by the capacity of all
// links together (hopBound) and by multicommodity flow.
func (p *problem) pointToPoint(d demand) (best bandwidthBound) {
	part := d.part(p.n)
	f := newFlow(p.forward)
	judge := func(inside []bool, out int64) {
		count := d.leaving(inside)
		if count == 0 {
			return
		}
		l := bandwidthBound{algbw: new(big.Rat).Mul(big.NewRat(out, count), big.NewRat(part, 1))}
		if best.algbw != nil && l.algbw.Cmp(best.algbw) >= 0 {
			return
		}
		l.cut = members(inside)
		l.proof = fmt.Sprintf("%s must leave %s, through %s", formatShare(big.NewRat(count, part)), formatRanks(l.cut), p.formatRate(big.NewRat(out, 1)))
		best = l
	}
	looked, all := 0, 0
	p.cuts(d.every && p.n > maxSmallRanks && p.allPermutations() != nil, func(inside []bool) {
		all++
		if f.limitReached() {
			return
		}
		if out := f.capacityOut(inside); !f.limitReached() {
			judge(inside, out)
			looked = all
		}
	})
	if f.limitReached() {
		p.skip(looked, all, "sets of ranks")
	}
	for r := 0; best.algbw == nil; r++ { // the work limit was met before the first cut
		single := make([]bool, p.n)
		single[r] = true
		judge(single, p.forward.capacityOut(r))
	}
	if part == 1 && !d.every && p.c.Counts == nil { // the minimum cut between each pair
		for a := range p.n {
			if p.ended() {
				break
			}
			if p.nodesInterchangeable && p.t.Ranks[a].Node > 0 && a < p.n-1 {
				continue // the same as a pair of the first node, or one leaving it
			}
			if f.limitReached() {
				p.skip(a, p.n, "pairs")
				break
			}
			d.to(p.n, a, func(b int, _ int64) {
				got := f.maxFlow(a, b)
				cut := f.sourceSide()
				if f.limitReached() {
					return
				}
				best.tighten(bandwidthBound{algbw: big.NewRat(got, 1), cut: cut,
					proof: fmt.Sprintf("the whole size must leave %s, through %s", formatRanks(cut), p.formatRate(big.NewRat(got, 1)))})
			})
		}
	}
	best.tighten(p.hopBound(d, part))
	return p.multicommodity(d, part, best, p.orbits(d))
}

// hopBound bounds by the capacity of all links together, where each part counts once
// for each link on its shortest path.
func (p *problem) hopBound(d demand, part int64) bandwidthBound {
	var capacity int64
	next := make([][]int32, p.forward.Vertices)
	for _, a := range p.forward.Arcs {
		capacity += a.Capacity
		next[a.From] = append(next[a.From], int32(a.To))
	}
	links := int64(0)
	sources, times := lists.UpTo(p.n), slices.Repeat([]int64{1}, p.n)
	if d.every {
		sources, times = p.weighted()
	}
	if int64(len(sources))*int64(len(p.forward.Arcs)) > maxWork {
		p.skip(0, len(sources), "ranks' distances")
		return bandwidthBound{}
	}
	hops := make([]int32, p.forward.Vertices)
	for i, a := range sources {
		if p.ended() {
			return bandwidthBound{}
		}
		far := breadthFirst(next, int32(a), hops)
		d.to(p.n, a, func(b int, parts int64) { links += times[i] * parts * int64(far[b]) })
	}
	rate := new(big.Rat).Mul(big.NewRat(capacity, links), big.NewRat(part, 1))
	return bandwidthBound{algbw: rate, proof: fmt.Sprintf("%s must pass links, a part once for each link on its way, that carry %s together",
		formatShare(big.NewRat(links, part)), p.formatRate(big.NewRat(capacity, 1)))}
}

// breadthFirst fills hops with the distance of every vertex from a start; -1 if there
// is no path.
func breadthFirst(next [][]int32, from int32, hops []int32) []int32 {
	for v := range hops {
		hops[v] = -1
	}
	hops[from] = 0
	queue := []int32{from}
	for i := 0; i < len(queue); i++ {
		for _, w := range next[queue[i]] {
			if hops[w] < 0 {
				hops[w] = hops[queue[i]] + 1
				queue = append(queue, w)
			}
		}
	}
	return hops
}

func members(inside []bool) (set []int) {
	for r, in := range inside {
		if in {
			set = append(set, r)
		}
	}
	return set
}

// formatShare prints a multiple of the size: 7/8 of the size, 2 times the size.
func formatShare(share *big.Rat) string {
	switch share.Cmp(big.NewRat(1, 1)) {
	case -1:
		return share.RatString() + " of the size"
	case 0:
		return "all of the size"
	}
	return share.RatString() + " times the size"
}
