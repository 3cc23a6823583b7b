package bounds

// The largest system of which every set of ranks is tried, and how many sets of
// each kind are tried for larger ones.
const (
	exhaustive = 10
	manySets   = 64
)

// cuts calls try for the sets of ranks likely to be narrow, and for their
// complements: every set of a small system; of others single ranks, single
// nodes, runs of ranks from the first, and every other block of ranks, for
// blocks of all sizes that divide them: halves along each side of a grid, bits
// of a hypercube, the same GPUs of every node.
// Where it is only how many ranks a set has that matters, the runs are enough.
func (p *problem) cuts(onlySizes bool, try func(inside []bool)) {
	inside := make([]bool, p.n)
	both := func(member func(r int) bool) {
		p.look()
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
	if p.n <= exhaustive {
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
		if p.alike {
			break
		}
	}
	for i := 1; i < min(p.n, manySets); i++ {
		end := i * p.n / min(p.n, manySets)
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
