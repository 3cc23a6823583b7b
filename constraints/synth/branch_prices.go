package synth

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/simplex"
	"github.com/colltune/colltune/constraints/symmetry"
)

// A routing of chunks that are copied is a branching for each chunk, and branchings compete
// for links. How many chunks get through, if a chunk may be divided among branchings, is a
// linear program with a column for each branching. Its dual solution is a price for each link
// in each step, and what the cheapest branchings cost at these prices proves a bound, for
// any number of chunks and however rounds are split among the steps:
//
//	Σ over steps of rounds × price of what a round carries   ≥   chunks × cost of a branching
//
// Columns are generated as they are needed (Desaulniers, Desrosiers and Solomon, Column
// Generation, 2005): package simplex prices links, and branch.go finds the branchings that are
// cheaper than all columns so far. Prices are rounded to whole numbers, at which cheapest
// branchings are exact; any prices prove a bound.

// pricing is the linear program for a collective in a number of steps, with the inequalities
// that were proved with it.
type pricing struct {
	one       *problem // the problem of one chunk
	steps     int
	kinds     []int   // by link: its kind, that of the links that automorphisms map to it; -1 if another link's capacity implies its own
	width     []int64 // by kind: chunks that its links carry together in a round
	orbits    []*sourceOrbit
	orbitOf   []int       // by class of items: its orbit
	images    [][][]int32 // by class: lane maps that take the orbit's branchings to its own, once needed
	cuts      []cutInequality
	bounded   bool
	bound     *ratioBound // for any number of chunks, once looked for
	ideal     []float64   // the best split of one round among the steps
	additions int         // so far, roughly
}

// sourceOrbit is the sources that automorphisms map to each other. Branchings are looked for
// from one of them.
type sourceOrbit struct {
	*brancher
	class int   // the first of its classes of items
	count int64 // chunks in total, where the collective has one
	all   []branching
	loads [][]int64 // by branching, over all automorphisms: loads by kind × steps + step
	share []float64 // by branching: its share in the best fractional solution known
	seen  map[string]bool
}

const (
	// branchRanks is the largest system whose branchings are examined.
	branchRanks = 16
	// branchHops limits lanes times steps, and branchSteps the steps, of problems
	// whose branchings are examined.
	branchHops  = 4000
	branchSteps = 16
	// maxBranchings limits the columns, and maxSolved how often the linear program is
	// solved for one split of rounds.
	maxBranchings = 3000
	maxSolved     = 150
	// maxPrice is the largest price, in whole numbers.
	maxPrice = 10_000
)

// newPricing returns the pricing of a problem whose chunks are copied, without columns. It
// returns nil for large systems, and for chunks with a single destination, which are flows.
func (p *problem) newPricing() *pricing {
	if p.reduces && !p.sumsEverywhere() {
		p = p.reversedProblem()
	}
	if p.reduces || p.singleDestination() || p.net.ranks > branchRanks || p.Steps > branchSteps || len(p.net.lanes)*p.Steps > branchHops || p.unreachable() {
		return nil
	}
	one, err := p.withChunks(1, p.Steps, p.Steps)
	if err != nil {
		return nil
	}
	if one.reduces {
		one = one.reversedProblem()
	}
	if one.outOfReach() != nil {
		return nil
	}
	b := &pricing{one: one, steps: p.Steps, kinds: slices.Repeat([]int{-1}, len(one.net.links))}
	for kind, links := range one.linksAlike(one.automorphisms()) {
		b.width = append(b.width, 0)
		for _, e := range links {
			b.kinds[e] = kind
			b.width[kind] += int64(one.net.links[e].capacity)
		}
	}
	var images [][]int
	for _, r := range one.automorphisms() {
		images = append(images, r.classes)
	}
	b.orbitOf = make([]int, len(one.classes))
	shared := newSets(one.net.ranks, b.steps)
	for c, first := range symmetry.Orbits(len(one.classes), images) {
		if c == first {
			it := &one.items[one.classes[c][0]]
			b.orbitOf[c] = len(b.orbits)
			b.orbits = append(b.orbits, &sourceOrbit{brancher: newBrancher(shared, one.net, b.steps, it.source, it.wanted), class: c, seen: map[string]bool{}})
		}
		b.orbitOf[c] = b.orbitOf[first]
		b.orbits[b.orbitOf[c]].count += int64(len(one.classes[c]))
	}
	return b
}

// covers reports whether a problem has the same classes of items, each a fixed number of
// times as large.
func (b *pricing) covers(p *problem) bool {
	return slices.EqualFunc(p.classes, b.one.classes, func(c, o []int) bool {
		mine, its := &b.one.items[o[0]], &p.items[c[0]]
		return len(c) == len(o)*p.Collective.Chunks && mine.source == its.source && slices.Equal(mine.wanted, its.wanted)
	})
}

// generate finds the branching of least cost for every orbit, and adds those that are new as
// columns. cost is that of all chunks together, or 0 if that took too much work; news
// reports whether there is a new column.
func (b *pricing) generate(prices []int64, over func() bool) (cost int64, news bool) {
	lanes := make([]int64, len(b.one.net.lanes)*b.steps)
	for i := range lanes {
		for _, e := range b.one.net.lanes[i/b.steps].links {
			if k := b.kinds[e]; k >= 0 {
				lanes[i] += prices[k*b.steps+i%b.steps]
			}
		}
	}
	for _, s := range b.orbits {
		least := int64(infinite)
		for _, load := range s.loads {
			sum := int64(0)
			for i, n := range load {
				sum += n * prices[i]
			}
			least = min(least, sum)
		}
		was := s.work
		br, each := s.cheapest(lanes, least, over)
		b.additions += 4 * (s.work - was)
		if s.spent {
			return 0, false
		}
		if br != nil {
			news = b.add(s, br) || news
		}
		cost += s.count * each
	}
	return cost, news
}

// solveLP returns the dual prices, and the largest number of chunks that get through: in the
// given split of rounds or, if split is nil, in one round that is split in the best way.
func (b *pricing) solveLP(split []int) (prices []float64, chunks float64) {
	lp := b.program(split)
	solved := lp.Solve(math.Inf(1))
	if b.additions += lp.Operations(); !solved || lp.Objective() <= 0 {
		return nil, 0
	}
	for row := range len(b.width) * b.steps {
		prices = append(prices, lp.Dual(row))
	}
	if split == nil {
		b.ideal = b.ideal[:0]
		for t := range b.steps {
			b.ideal = append(b.ideal, lp.Primal(b.columns()+t))
		}
	}
	at := 0
	for _, s := range b.orbits {
		s.share = s.share[:0]
		for range s.all {
			s.share = append(s.share, lp.Primal(at))
			at++
		}
	}
	return prices, lp.Objective()
}

// program is the linear program of what the rounds can carry.
func (b *pricing) program(split []int) *simplex.Program {
	rows, columns := len(b.width)*b.steps, b.columns()
	free := 0
	if split == nil {
		free = b.steps
	}
	lp := simplex.New(rows+len(b.orbits)+1, columns+free+1)
	at := 0
	for i, s := range b.orbits {
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
			lp.SetCoefficient(rows+len(b.orbits), columns+row%b.steps, 1)
		}
	}
	lp.SetBound(rows+len(b.orbits), 1)
	return lp
}

// cut is the inequality that prices, in whole numbers, prove for all splits of
// rounds. news reports whether finding it led to new branchings.
func (b *pricing) cut(prices []float64, over func() bool) (c cutInequality, news bool) {
	whole := simplex.Integers(prices, maxPrice, 1e-6)
	c.capacity = make([]int64, b.steps)
	for row, price := range whole {
		c.capacity[row%b.steps] += price * b.width[row/b.steps]
	}
	c.need, news = b.generate(whole, over)
	return c, news
}

// verdict is what is known about a split of rounds.
type verdict int8

const (
	unsettled verdict = iota
	excluded          // a cut proves it impossible
	fits              // the linear program achieves it in fractions
)

// judge finds out whether a number of chunks may get through in a split of rounds.
func (b *pricing) judge(chunks int, split []int, over func() bool) verdict {
	if b.excludes(chunks, split) {
		return excluded
	}
	b.addFirst(over)
	for range maxSolved {
		if over() || b.columns() > maxBranchings {
			return unsettled
		}
		prices, through := b.solveLP(split)
		if prices == nil {
			return unsettled
		}
		if through >= float64(chunks)*(1-1e-9) {
			return fits
		}
		c, news := b.cut(prices, over)
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

// excludes reports whether a known cut proves that a number of chunks don't get through
// in this split of rounds.
func (b *pricing) excludes(chunks int, split []int) bool {
	return slices.ContainsFunc(b.cuts, func(c cutInequality) bool { return c.excludes(chunks, split) })
}

// addFirst adds the first columns: the branchings with the fewest links or, if that is
// too much work, those that are everywhere as early as possible.
func (b *pricing) addFirst(over func() bool) {
	if b.columns() > 0 {
		return
	}
	b.generate(slices.Repeat([]int64{1}, len(b.width)*b.steps), over)
	for _, s := range b.orbits {
		if len(s.all) == 0 && !over() {
			b.add(s, s.earliest(slices.Repeat([]int64{1}, len(b.one.net.lanes)*b.steps)))
		}
	}
}

// least is the bound on R/C that prices prove for any number of chunks, or nil if
// it is not above the bound already known. It is computed once.
func (b *pricing) least(known *big.Rat, over func() bool) *ratioBound {
	if b.bounded {
		return b.bound
	}
	b.bounded = true
	start, enough := time.Now(), 0.0
	if known != nil {
		enough, _ = known.Float64()
	}
	b.addFirst(over)
	var best *ratioBound
	for range maxSolved {
		if over() || b.columns() > maxBranchings {
			break
		}
		prices, chunks := b.solveLP(nil)
		if prices == nil || enough*chunks >= 1-1e-9 {
			break
		}
		c, news := b.cut(prices, over)
		if r := c.ratio(); r != nil && (best == nil || r.Cmp(best.ratio) > 0) {
			b.cuts = append(b.cuts, c)
			best = &ratioBound{ratio: r, by: Bound, seconds: time.Since(start).Seconds(),
				why: fmt.Sprintf("with the best prices of links the chunks cost %d at least, and a round of any step is worth %d at most", c.need, slices.Max(c.capacity))}
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
	b.bound = best
	return best
}

// add adds a branching, unless one with the same loads is known.
func (b *pricing) add(s *sourceOrbit, br branching) bool {
	load := make([]int64, len(b.width)*b.steps)
	for _, h := range br {
		for _, e := range b.one.net.lanes[h.lane].links {
			if k := b.kinds[e]; k >= 0 {
				load[k*b.steps+h.step]++
			}
		}
	}
	name := fmt.Sprint(load)
	if s.seen[name] {
		return false
	}
	s.seen[name] = true
	s.all, s.loads = append(s.all, br), append(s.loads, load)
	return true
}

func (b *pricing) columns() (n int) {
	for _, s := range b.orbits {
		n += len(s.all)
	}
	return n
}
