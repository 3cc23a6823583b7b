package bounds

import (
	"fmt"
	"math/big"
	"slices"
)

// pairs describes who sends to whom in a collective that neither combines nor
// copies: each pair's share of the size is its parts divided by part.
type pairs struct {
	every bool // every rank sends the same amount to every other
	part  func(n int) int64
	to    func(n, rank int, yield func(to int, parts int64))
}

var (
	everyPair = pairs{
		every: true,
		part:  func(n int) int64 { return int64(n) },
		to: func(n, rank int, yield func(int, int64)) {
			for to := range n {
				if to != rank {
					yield(to, 1)
				}
			}
		}}
	nextPair = pairs{
		part: func(int) int64 { return 1 },
		to: func(n, rank int, yield func(int, int64)) {
			if rank+1 < n {
				yield(rank+1, 1)
			}
		}}
	ringPair = pairs{
		part: func(int) int64 { return 1 },
		to:   func(n, rank int, yield func(int, int64)) { yield((rank+1)%n, 1) },
	}
)

// counted is the pairs of an alltoall with a count for each pair.
func counted(counts []int) pairs {
	return pairs{
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

// crossing is the number of parts that leave a set of ranks.
func (d pairs) crossing(inside []bool) (count int64) {
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

// deliver bounds alltoall, alltonext and sendrecv by what must leave a set of
// ranks against what can, for many sets, and by what must pass all links together,
// where each pair's part counts once for every link between them.
func (p *problem) deliver(d pairs) (best limit) {
	part := d.part(p.n)
	f := newFlow(p.forward)
	judge := func(inside []bool, out int64) {
		count := d.crossing(inside)
		if count == 0 {
			return
		}
		l := limit{algbw: new(big.Rat).Mul(big.NewRat(out, count), big.NewRat(part, 1))}
		if best.algbw != nil && l.algbw.Cmp(best.algbw) >= 0 {
			return
		}
		l.cut = members(inside)
		l.proof = fmt.Sprintf("%s must leave %s, through %s", ofSize(big.NewRat(count, part)), ranks(l.cut), p.rate(big.NewRat(out, 1)))
		best = l
	}
	looked, all := 0, 0
	p.cuts(d.every && p.n > fewRanks && p.ranksAlike() != nil, func(inside []bool) {
		all++
		if f.spent() {
			return
		}
		if out := f.leaving(inside); !f.spent() {
			judge(inside, out)
			looked = all
		}
	})
	if f.spent() {
		p.unlooked(looked, all, "sets of ranks")
	}
	for r := 0; best.algbw == nil; r++ { // there was no time for any
		single := make([]bool, p.n)
		single[r] = true
		judge(single, p.forward.alone(r))
	}
	if part == 1 && !d.every && p.c.Counts == nil { // the minimum cut of each single pair, switches and all
		for a := range p.n {
			p.look()
			if p.alike && p.t.Ranks[a].Node > 0 && a < p.n-1 {
				continue // the same as a pair of the first node, or one leaving it
			}
			if f.spent() {
				p.unlooked(a, p.n, "pairs")
				break
			}
			d.to(p.n, a, func(b int, _ int64) {
				got := f.between(a, b)
				cut := f.side()
				if f.spent() {
					return
				}
				best.least(limit{algbw: big.NewRat(got, 1), cut: cut,
					proof: fmt.Sprintf("the whole size must leave %s, through %s", ranks(cut), p.rate(big.NewRat(got, 1)))})
			})
		}
	}
	best.least(p.mileage(d, part))
	return p.multicommodity(d, part, best, p.orbits(d))
}

// mileage bounds by the number of links that all parts must pass together.
func (p *problem) mileage(d pairs, part int64) limit {
	var capacity int64
	next := make([][]int32, p.forward.vertices)
	for _, a := range p.forward.arcs {
		capacity += a.capacity
		next[a.from] = append(next[a.from], a.to)
	}
	links := int64(0)
	sources, times := rising(p.n), slices.Repeat([]int64{1}, p.n)
	if d.every {
		sources, times = p.counted()
	}
	if int64(len(sources))*int64(len(p.forward.arcs)) > mostWork {
		p.unlooked(0, len(sources), "ranks' distances")
		return limit{}
	}
	hops := make([]int32, p.forward.vertices)
	for i, a := range sources {
		p.look()
		far := breadthFirst(next, int32(a), hops)
		d.to(p.n, a, func(b int, parts int64) { links += times[i] * parts * int64(far[b]) })
	}
	rate := new(big.Rat).Mul(big.NewRat(capacity, links), big.NewRat(part, 1))
	return limit{algbw: rate, proof: fmt.Sprintf("%s must pass links, a part once for each link on its way, that carry %s together",
		ofSize(big.NewRat(links, part)), p.rate(big.NewRat(capacity, 1)))}
}

// breadthFirst fills hops with the distance of every vertex from a start.
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

// ofSize names a multiple of the size: 7/8 of the size, 2 times the size.
func ofSize(share *big.Rat) string {
	switch share.Cmp(big.NewRat(1, 1)) {
	case -1:
		return share.RatString() + " of the size"
	case 0:
		return "all of the size"
	}
	return share.RatString() + " times the size"
}
