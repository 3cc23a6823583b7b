package synth

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/symmetry"
)

// course is the set of lanes that a chunk of a sum takes in each step, indexed by
// lane × steps + step. Whatever ranks combine on the way, in the end each must
// have heard of every other:
//
//	step 1   step 2
//	0 ─▶ 1   1 ─▶ 2      rank 2 has heard of 0; rank 0 of nobody
type course []bool

// hearing examines courses on which every rank hears of every other. That is less
// than a sum requires, which must not count any rank twice; so what holds for all
// of these courses holds for all sums.
type hearing struct {
	p     *problem
	steps int
	// kinds is, by link, its kind, that of the links that automorphisms map to it; -1
	// if another link's capacity implies its own.
	kinds []int
	width []int64 // by kind: chunks that its links carry together in a round
	heard []uint64
	next  []uint64
	whole uint64
	// chance is the source of random courses, which are the same every time.
	chance *rand.Rand
}

const (
	// hearingRanks is the largest system whose courses are examined.
	hearingRanks = 16
	// manyPlaces limits lanes times steps, since thinning out a course takes the
	// square of that.
	manyPlaces = 1 << 13
)

// hears returns the courses of p in so many steps, or nil if not every rank wants
// the sums, the system is too large, or the steps are too many.
func (p *problem) hears(steps int) *hearing {
	if !p.sumsEverywhere() || !p.wantedEverywhere() || p.net.ranks > hearingRanks || len(p.net.lanes)*steps > manyPlaces || p.unreachable() {
		return nil
	}
	n := p.net.ranks
	h := &hearing{p: p, steps: steps, heard: make([]uint64, n), next: make([]uint64, n), whole: 1<<n - 1, chance: rand.New(rand.NewPCG(1, 1))}
	h.kinds = make([]int, len(p.net.links))
	for e := range h.kinds {
		h.kinds[e] = -1
	}
	for kind, links := range p.linksAlike(p.automorphisms()) {
		h.width = append(h.width, 0)
		for _, e := range links {
			h.kinds[e] = kind
			h.width[kind] += int64(p.net.links[e].capacity)
		}
	}
	return h
}

// linksAlike groups the links that automorphisms map to each other, without those
// whose capacity is implied by others'.
func (p *problem) linksAlike(automorphisms []automorphism) [][]int {
	var images [][]int
	for _, r := range automorphisms {
		image := upTo(len(p.net.links))
		for i, l := range p.net.lanes {
			for k, e := range l.links {
				image[e] = int(p.net.lanes[r.lanes[i]].links[k])
			}
		}
		images = append(images, image)
	}
	orbits := make([][]int, len(p.net.links))
	for e, first := range symmetry.Orbits(len(p.net.links), images) {
		orbits[first] = append(orbits[first], e)
	}
	tight := p.net.undominated()
	return slices.DeleteFunc(orbits, func(links []int) bool {
		return !slices.ContainsFunc(links, func(e int) bool { return slices.Contains(tight, int32(e)) })
	})
}

// everything is the course that takes all lanes in every step.
func (h *hearing) everything() course {
	c := make(course, len(h.p.net.lanes)*h.steps)
	for i := range c {
		c[i] = true
	}
	return c
}

// enough reports whether every rank hears of every other on a course.
func (h *hearing) enough(c course) bool {
	for r := range h.heard {
		h.heard[r] = 1 << r
	}
	for t := range h.steps {
		copy(h.next, h.heard)
		for l, lane := range h.p.net.lanes {
			if c[l*h.steps+t] {
				h.next[lane.to] |= h.heard[lane.from]
			}
		}
		h.heard, h.next = h.next, h.heard
	}
	return !slices.ContainsFunc(h.heard, func(heard uint64) bool { return heard != h.whole })
}

// thin drops what a course can do without, the most expensive first, after
// changing the tolls randomly by a factor of up to 1±give.
func (h *hearing) thin(c course, toll []float64, give float64) {
	order := make([]int, 0, len(c))
	dear := make([]float64, len(c))
	for i := range c {
		if c[i] {
			order = append(order, i)
			// Lanes without a toll get a small one, so that they are dropped as
			// well.
			dear[i] = (toll[i] + 1e-4) * (1 + give*(2*h.chance.Float64()-1))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(dear[b], dear[a]) })
	for _, i := range order {
		h.p.checkDeadline()
		c[i] = false
		c[i] = !h.enough(c)
	}
}

// loads is how often a course takes links of each kind in each step, by kind ×
// steps + step.
func (h *hearing) loads(c course) []int64 {
	load := make([]int64, len(h.width)*h.steps)
	for i, taken := range c {
		if !taken {
			continue
		}
		for _, e := range h.p.net.lanes[i/h.steps].links {
			if k := h.kinds[e]; k >= 0 {
				load[k*h.steps+i%h.steps]++
			}
		}
	}
	return load
}

// state states a course that pays less than a given sum, by whole tolls of kinds
// in steps.
func (h *hearing) state(tolls []int64, less int64) (f *constraints.Formula, takes []constraints.Lit) {
	p, steps := h.p, h.steps
	f = constraints.NewFormula(p.Collective.Name + " on " + p.Topology.Name + ": what a chunk passes")
	takes = make([]constraints.Lit, len(p.net.lanes)*steps)
	for i := range takes {
		takes[i] = f.Bool("")
	}
	for c := range p.net.ranks {
		h.spread(f, takes, c)
	}
	var pays, sends []constraints.Term
	for i, l := range takes {
		toll := int64(0)
		for _, e := range p.net.lanes[i/steps].links {
			if k := h.kinds[e]; k >= 0 {
				toll += tolls[k*steps+i%steps]
			}
		}
		pays = append(pays, constraints.Term{Weight: int(toll), Lit: l})
		sends = append(sends, constraints.Term{Weight: 1, Lit: l})
	}
	f.SumAtMost(int(less-1), pays...)
	// It is known that 2(n-1) sends are necessary, but a solver takes long to find
	// that.
	f.SumAtLeast(2*(p.net.ranks-1), sends...)
	// Of courses that automorphisms map to each other, which pay the same, ask for the
	// first.
	for _, r := range p.automorphisms() {
		var before, after []constraints.Lit
		for t := range steps {
			for l := range p.net.lanes {
				before = append(before, takes[l*steps+t])
				after = append(after, takes[int(r.lanes[l])*steps+t])
			}
		}
		lexAtLeast(f, before, after)
	}
	return f, takes
}

// spread states that all ranks hear of one.
func (h *hearing) spread(f *constraints.Formula, takes []constraints.Lit, c int) {
	net, steps := h.p.net, h.steps
	heard := make([][]constraints.Lit, net.ranks) // by rank and number of steps
	for r := range heard {
		heard[r] = make([]constraints.Lit, steps+1)
		for t := range heard[r] {
			switch {
			case r == c || t == steps:
				heard[r][t] = constraints.True
			case int(net.dist[c][r]) > t:
				heard[r][t] = constraints.False
			default:
				heard[r][t] = f.Bool("")
			}
		}
	}
	for r := range heard {
		for t := range steps {
			if r == c || heard[r][t+1] == constraints.False {
				continue
			}
			f.Implies([]constraints.Lit{heard[r][t]}, heard[r][t+1])
			whence := []constraints.Lit{heard[r][t]}
			for _, l := range net.in[r] {
				switch from := heard[net.lanes[l].from][t]; from {
				case constraints.False:
				case constraints.True:
					whence = append(whence, takes[int(l)*steps+t])
				default:
					whence = append(whence, f.And(takes[int(l)*steps+t], from))
				}
			}
			f.Implies([]constraints.Lit{heard[r][t+1]}, whence...)
		}
	}
}
