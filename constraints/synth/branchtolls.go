package synth

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/simplex"
)

// Chunks that are copied compete for links as sums do (tolls.go). What any mix of
// their branchings can achieve is a linear program with a column for each
// branching from each source. Its dual prices are tolls, and since the cheapest
// branching is found without a solver, they prove a bound, in whole numbers:
//
//	Σ over steps of rounds × what a round brings   ≥   chunks × what each pays at least
//
// for any number of chunks, however rounds are split among the steps. It excludes
// splits of a query's rounds, and bounds R/C for a number of steps.

// branches holds the branchings known for a collective in so many steps, and the
// cuts found with them.
type branches struct {
	one    *problem // the problem of one chunk
	steps  int
	kinds  []int   // by link: its kind, that of the links that automorphisms map to it; -1 if another link's capacity implies its own
	width  []int64 // by kind: chunks that its links carry together in a round
	stems  []*stem
	stemOf []int       // by class of items: its stem
	moved  [][][]int32 // by class: the possible automorphisms of the stem's lanes
	cuts   []cutInequality
	looked bool
	floor  *ratioBound // bound for any number of chunks, once looked for
	ideal  []float64   // the best split of one round among the steps
	sums   int         // additions so far, roughly
}

const (
	// branchHops limits lanes times steps, and branchSteps the steps, of problems
	// whose branchings are examined.
	branchHops  = 4000
	branchSteps = 16
	// manyBranchings limits the branchings that are collected, and manyPriced how
	// often tolls are set for one split of rounds.
	manyBranchings = 3000
	manyPriced     = 150
	// manyMoved limits the automorphisms by which a class can follow from its stem.
	manyMoved = 16
	// dearest is the largest toll in whole numbers.
	dearest = 10_000
)

// branch begins to examine the branchings of a problem whose chunks are copied. It
// returns nil for large systems, and for chunks with a single destination, which
// are flows.
func (p *problem) branch() *branches {
	if p.reduces || p.singleDestination() || p.net.ranks > hearingRanks || p.Steps > branchSteps || len(p.net.lanes)*p.Steps > branchHops || p.unreachable() {
		return nil
	}
	one, err := p.oneChunk(p.Steps)
	if err != nil {
		return nil
	}
	if one.reduces {
		one = one.reversedProblem()
	}
	if one.outOfReach() != nil {
		return nil
	}
	b := &branches{one: one, steps: p.Steps, kinds: slices.Repeat([]int{-1}, len(one.net.links))}
	for kind, links := range one.linksAlike(one.automorphisms()) {
		b.width = append(b.width, 0)
		for _, e := range links {
			b.kinds[e] = kind
			b.width[kind] += int64(one.net.links[e].capacity)
		}
	}
	b.root()
	return b
}

// price finds the branching of least cost for every stem. pays is what all chunks
// then pay together, or 0 if that took too much work; news reports whether any of the
// branchings is new.
func (b *branches) price(tolls []int64, over func() bool) (pays int64, news bool) {
	lanes := make([]int64, len(b.one.net.lanes)*b.steps)
	for i := range lanes {
		for _, e := range b.one.net.lanes[i/b.steps].links {
			if k := b.kinds[e]; k >= 0 {
				lanes[i] += tolls[k*b.steps+i%b.steps]
			}
		}
	}
	for _, s := range b.stems {
		least := int64(dear)
		for _, load := range s.loads {
			sum := int64(0)
			for i, n := range load {
				sum += n * tolls[i]
			}
			least = min(least, sum)
		}
		was := s.work
		br, cost := s.cheapest(lanes, least, over)
		b.sums += 4 * (s.work - was)
		if s.spent {
			return 0, false
		}
		if br != nil {
			news = b.add(s, br) || news
		}
		pays += s.count * cost
	}
	return pays, news
}

// set finds the tolls at which the cheapest mix of the known branchings pays most,
// and how many chunks get through at most: in the given split of rounds, or, if
// split is nil, in one round that is split in the best way.
func (b *branches) set(split []int) (tolls []float64, chunks float64) {
	lp := b.program(split)
	solved := lp.Solve(math.Inf(1))
	if b.sums += lp.Operations(); !solved || lp.Objective() <= 0 {
		return nil, 0
	}
	for row := range len(b.width) * b.steps {
		tolls = append(tolls, lp.Dual(row))
	}
	if split == nil {
		b.ideal = b.ideal[:0]
		for t := range b.steps {
			b.ideal = append(b.ideal, lp.Primal(b.known()+t))
		}
	}
	at := 0
	for _, s := range b.stems {
		s.share = s.share[:0]
		for range s.all {
			s.share = append(s.share, lp.Primal(at))
			at++
		}
	}
	return tolls, lp.Objective()
}

// program is the linear program of what the rounds can carry.
func (b *branches) program(split []int) *simplex.Program {
	rows, columns := len(b.width)*b.steps, b.known()
	free := 0
	if split == nil {
		free = b.steps
	}
	lp := simplex.New(rows+len(b.stems)+1, columns+free+1)
	at := 0
	for i, s := range b.stems {
		for _, load := range s.loads {
			for row, n := range load {
				if n != 0 {
					lp.SetCoefficient(row, at, float64(n))
				}
			}
			lp.SetCoefficient(rows+i, at, -1)
			at++
		}
		lp.SetCoefficient(rows+i, columns+free, float64(s.count))
	}
	lp.Maximize(columns + free)
	for row := range rows {
		width := float64(b.width[row/b.steps])
		if split != nil {
			lp.SetBound(row, width*float64(split[row%b.steps]))
		} else {
			lp.SetCoefficient(row, columns+row%b.steps, -width)
			lp.SetCoefficient(rows+len(b.stems), columns+row%b.steps, 1)
		}
	}
	lp.SetBound(rows+len(b.stems), 1)
	return lp
}

// cut is the inequality that tolls, in whole numbers, prove for all splits of
// rounds. news reports whether finding it led to new branchings.
func (b *branches) cut(tolls []float64, over func() bool) (c cutInequality, news bool) {
	whole := wholes(tolls, dearest)
	c.capacity = make([]int64, b.steps)
	for row, toll := range whole {
		c.capacity[row%b.steps] += toll * b.width[row/b.steps]
	}
	c.need, news = b.price(whole, over)
	return c, news
}

// wholes scales numbers to integers of at most finest, keeping their proportions.
func wholes(xs []float64, finest int) []int64 {
	most := slices.Max(xs)
	all := make([]int64, len(xs))
	for scale := 1; most > 0 && scale <= finest; scale++ {
		misfit := func(x float64) bool {
			x *= float64(scale) / most
			return math.Abs(x-math.Round(x)) >= 1e-6*float64(scale)
		}
		if scale == finest || !slices.ContainsFunc(xs, misfit) {
			for i, x := range xs {
				all[i] = int64(math.Round(x * float64(scale) / most))
			}
			break
		}
	}
	return all
}

// excludes reports whether a cut proves that so many chunks don't get through in
// this split of rounds.
func (c cutInequality) excludes(chunks int, split []int) bool {
	passes := int64(0)
	for t, n := range split {
		passes += c.capacity[t] * int64(n)
	}
	return passes < c.need*int64(chunks)
}

// verdict is what is known about a split of rounds.
type verdict int8

const (
	unsettled verdict = iota
	excluded          // a cut proves it impossible
	fits              // mixes of branchings achieve it in fractions
)

// judge finds out whether so many chunks may get through in a split of rounds.
func (b *branches) judge(chunks int, split []int, over func() bool) verdict {
	if b.excludes(chunks, split) {
		return excluded
	}
	b.begin(over)
	for range manyPriced {
		if over() || b.known() > manyBranchings {
			return unsettled
		}
		tolls, through := b.set(split)
		if tolls == nil {
			return unsettled
		}
		if through >= float64(chunks)*(1-1e-9) {
			return fits
		}
		c, news := b.cut(tolls, over)
		if c.excludes(chunks, split) {
			b.cuts = append(b.cuts, c)
			return excluded
		}
		if !news {
			return unsettled
		}
	}
	return unsettled
}

// excludes reports whether a known cut proves that so many chunks don't get through
// in this split of rounds.
func (b *branches) excludes(chunks int, split []int) bool {
	return slices.ContainsFunc(b.cuts, func(c cutInequality) bool { return c.excludes(chunks, split) })
}

// begin finds the first branchings: those with the fewest links or, if that is too
// much work, those that are everywhere as early as possible.
func (b *branches) begin(over func() bool) {
	if b.known() > 0 {
		return
	}
	b.price(slices.Repeat([]int64{1}, len(b.width)*b.steps), over)
	for _, s := range b.stems {
		if len(s.all) == 0 && !over() {
			b.add(s, s.hasty(slices.Repeat([]int64{1}, len(b.one.net.lanes)*b.steps)))
		}
	}
}

// least is the bound on R/C that tolls prove for any number of chunks, or nil if
// it is not above the bound already known. It is computed once.
func (b *branches) least(known *big.Rat, over func() bool) *ratioBound {
	if b.looked {
		return b.floor
	}
	b.looked = true
	start, enough := time.Now(), 0.0
	if known != nil {
		enough, _ = known.Float64()
	}
	b.begin(over)
	var best *ratioBound
	for range manyPriced {
		if over() || b.known() > manyBranchings {
			break
		}
		tolls, chunks := b.set(nil)
		if tolls == nil || enough*chunks >= 1-1e-9 {
			break
		}
		c, news := b.cut(tolls, over)
		if r := c.ratio(); r != nil && (best == nil || r.Cmp(best.ratio) > 0) {
			b.cuts = append(b.cuts, c)
			best = &ratioBound{ratio: r, by: Bound, seconds: time.Since(start).Seconds(),
				why: fmt.Sprintf("with the best tolls on links the chunks pay %d at least, and a round of any step brings %d at most", c.need, slices.Max(c.capacity))}
		}
		if best != nil {
			if f, _ := best.ratio.Float64(); f*chunks > 1-1e-7 {
				break
			}
		}
		if !news {
			break
		}
	}
	b.floor = best
	return best
}
