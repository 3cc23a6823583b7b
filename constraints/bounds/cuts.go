package bounds

// maxExhaustiveRanks is the largest system of which every set of ranks is tried.
// maxRuns limits the runs of ranks that are tried on larger ones.
const (
	maxExhaustiveRanks = 10
	maxRuns            = 64
)

// cuts calls try for sets of ranks that are likely to have little capacity, and for
// their complements. On small systems these are all sets. On others they are single
// ranks, single nodes, runs of ranks from the first, and every other block of ranks,
// for all block sizes that divide the ranks: halves along each side of a grid, bits of
// a hypercube, the same GPUs of every node. If onlySizes, only the number of ranks in a
// set matters, and blocks are left out.
func (p *problem) cuts(onlySizes bool, try func(inside []bool)) {
	inside := make([]bool, p.n)
	both := func(member func(r int) bool) {
		if p.ended() {
			return
		}
		some, all := false, true
		for r := range inside {
			inside[r] = member(r)
			some, all = some || inside[r], all && inside[r]
		}
		if !some || all {
			return
		}
		try(inside)
		for r := range inside {
			inside[r] = !inside[r]
		}
		try(inside)
	}
	if p.n <= maxExhaustiveRanks {
		for set := 1; set < 1<<(p.n-1); set++ {
			both(func(r int) bool { return set>>r&1 == 1 })
		}
		return
	}
	for _, v := range p.representatives() {
		both(func(r int) bool { return r == v })
	}
	for node := range p.t.Nodes {
		both(func(r int) bool { return p.t.Ranks[r].Node == node })
		if p.nodesInterchangeable {
			break
		}
	}
	for i := 1; i < min(p.n, maxRuns); i++ {
		end := i * p.n / min(p.n, maxRuns)
		both(func(r int) bool { return r < end })
	}
	for step := 1; step < p.n; step++ {
		if p.n%step != 0 || onlySizes {
			continue
		}
		for side := 2; side*step <= p.n; side++ {
			if p.n%(side*step) == 0 {
				both(func(r int) bool { return r/step%side < side/2 })
			}
		}
	}
}
