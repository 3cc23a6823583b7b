package synth

import (
	"slices"

	"github.com/colltune/colltune/constraints/symmetry"
)

// demands lists demands, the likeliest to be infeasible first: the chunks that each rank
// wants, those of each rank that others want, and those that sets of ranks want. One rank or
// set of each orbit is examined.
func (p *problem) demands() []demand {
	n := p.net.ranks
	into := make([]demand, n)
	outof := make([]demand, n)
	single := make([]bool, n)
	for r := range n {
		into[r] = demand{from: make([]int64, n), into: make([]int64, n), set: []int{r}, kind: intoRank}
		outof[r] = demand{from: make([]int64, n), into: make([]int64, n), set: []int{r}, kind: outOf}
		single[r] = true
	}
	for i := range p.items {
		it := &p.items[i]
		others := it.destinations()
		single[it.source] = single[it.source] && len(others) <= 1
		for _, r := range others {
			into[r].from[it.source]++
			into[r].into[r]++
			into[r].need++
			outof[it.source].from[it.source]++
			outof[it.source].into[r]++
			outof[it.source].need++
		}
	}
	orbit := symmetry.Orbits(n, p.rankImages())
	var all []demand
	for r := range n {
		if into[r].need > 0 && orbit[r] == r {
			all = append(all, into[r])
		}
	}
	for r := range n {
		if single[r] && outof[r].need > 0 && orbit[r] == r {
			all = append(all, outof[r])
		}
	}
	if p.wantedEverywhere() {
		return all // the demands of single ranks imply those of sets
	}
	return append(all, p.setDemands()...)
}

func (p *problem) rankImages() [][]int {
	var all [][]int
	for _, r := range p.automorphisms() {
		all = append(all, r.ranks)
	}
	return all
}

// wantedEverywhere reports whether all ranks want all chunks.
func (p *problem) wantedEverywhere() bool {
	return !slices.ContainsFunc(p.items, func(it item) bool { return len(it.wanted) < p.net.ranks })
}

// setDemands returns the demands of chunks that must enter a set of ranks at least once.
func (p *problem) setDemands() []demand {
	n := p.net.ranks
	var all []demand
	p.eachSet(func(in []bool) {
		d := demand{from: make([]int64, n), into: make([]int64, n), kind: intoSet}
		for r := range n {
			if in[r] {
				d.set = append(d.set, r)
			}
		}
		if len(d.set) < 2 || len(d.set) == n {
			return // single ranks have demands of their own
		}
		for i := range p.items {
			it := &p.items[i]
			if !in[it.source] && slices.ContainsFunc(it.wanted, func(r int) bool { return in[r] }) {
				d.from[it.source]++
				d.need++
			}
		}
		for _, r := range d.set {
			d.into[r] = d.need
		}
		if d.need > 0 {
			all = append(all, d)
		}
	})
	return all
}

const (
	// maxExhaustiveRanks is the number of ranks up to which all sets are examined.
	maxExhaustiveRanks = 8
	// maxRuns is the number of runs of ranks that are examined in larger systems.
	maxRuns = 64
)

// eachSet calls yield with sets of ranks. In small systems these are all sets, one of each
// orbit; in larger ones single ranks, nodes, runs of ranks from the first, every other block
// of ranks, and the complements of all these.
func (p *problem) eachSet(yield func(in []bool)) {
	n := p.net.ranks
	in := make([]bool, n)
	if n <= maxExhaustiveRanks {
		images := p.rankImages()
		sets := make([][]int, len(images))
		for i, image := range images {
			sets[i] = make([]int, 1<<n)
			for set := range sets[i] {
				for r, to := range image {
					sets[i][set] |= set >> r & 1 << to
				}
			}
		}
		for set, first := range symmetry.Orbits(1<<n, sets) {
			for r := range in {
				in[r] = set>>r&1 == 1
			}
			if set == first {
				yield(in)
			}
		}
		return
	}
	both := func(member func(r int) bool) {
		for _, inside := range []bool{true, false} {
			for r := range in {
				in[r] = member(r) == inside
			}
			yield(in)
		}
	}
	for r, first := range symmetry.Orbits(n, p.rankImages()) {
		if r == first {
			both(func(a int) bool { return a == r })
		}
	}
	for node := range p.Topology.Nodes {
		both(func(r int) bool { return p.Topology.Ranks[r].Node == node })
	}
	for i := 1; i < min(n, maxRuns); i++ {
		end := i * n / min(n, maxRuns)
		both(func(r int) bool { return r < end })
	}
	for step := 1; step < n; step++ {
		for side := 2; n%step == 0 && side*step <= n; side++ {
			if n%(side*step) == 0 {
				both(func(r int) bool { return r/step%side < side/2 })
			}
		}
	}
}

// maxPairRanks is the number of ranks up to which all pairs are examined.
const maxPairRanks = 16

// sumDemands returns the demands of sums: for each chunk that is wanted at a rank, one chunk
// must come there from every other contributor. If all chunks are wanted everywhere, this
// also covers cuts of sets of ranks, because every set has a rank inside and one outside.
func (p *problem) sumDemands() []demand {
	n := p.net.ranks
	var all []demand
	pairs := make([][]int, 0)
	for _, image := range p.rankImages() {
		becomes := make([]int, n*n)
		for at := range becomes {
			becomes[at] = image[at/n]*n + image[at%n]
		}
		pairs = append(pairs, becomes)
	}
	needs := make([]int64, n) // by rank
	for _, it := range p.items {
		for _, r := range it.wanted {
			needs[r]++
		}
	}
	tried := make([]bool, n*n) // by the first pair of an orbit
	for at, first := range symmetry.Orbits(n*n, pairs) {
		a, b := at/n, at%n
		if a == b || tried[first] || n > maxPairRanks && b != (a+1)%n && !p.farthest(a, b) {
			continue
		}
		tried[first] = true
		d := demand{from: make([]int64, n), into: make([]int64, n), set: []int{a, b}, kind: fromTo, need: needs[b]}
		if d.from[a], d.into[b] = d.need, d.need; d.need > 0 {
			all = append(all, d)
		}
	}
	if p.wantedEverywhere() {
		return all
	}
	p.eachSet(func(in []bool) {
		d := demand{from: make([]int64, n), into: make([]int64, n), kind: intoSet}
		for _, it := range p.items {
			if slices.ContainsFunc(it.wanted, func(r int) bool { return in[r] }) {
				d.need++
			}
		}
		for r := range n {
			if in[r] {
				d.set = append(d.set, r)
				d.into[r] = d.need
			} else {
				d.from[r] = d.need
			}
		}
		if len(d.set) > 0 && len(d.set) < n && d.need > 0 {
			all = append(all, d)
		}
	})
	return all
}

func (p *problem) farthest(a, b int) bool { return p.net.dist[a][b] == slices.Max(p.net.dist[a]) }
