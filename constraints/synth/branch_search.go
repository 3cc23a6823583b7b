package synth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/solver"
)

// A query of chunks that are copied is asked of solvers and of branchings in turn: solvers are
// better at small or tight queries, and packing branchings at large ones with some slack.

const (
	// solverShare is the part of a single query's time that solvers get before anything is
	// known of branchings, and judgeShare the part for pricing splits of its rounds.
	solverShare = 30
	judgeShare  = 20
	// sumsPerSecond is how many additions count as a second of work.
	sumsPerSecond = 500_000_000
	// leastShare is the time it takes to ask a solver at all, and onePricing that of solving
	// the linear program once.
	leastShare = 100 * time.Millisecond
	onePricing = 50 * time.Millisecond
	// fewSplits is the number of splits up to which each is judged by itself, without a bound
	// on all of them.
	fewSplits = 30
	// maxPacked is for how many splits of the rounds a packing is looked for.
	maxPacked = 8
)

// turns limit packing and then the solvers, one turn after the other: to hundredths of a
// second, to tenths, and then to what is left.
var turns = []struct {
	sums   int           // additions that packing may make; 0: a third of the query's time
	solver time.Duration // the time left is divided by this for the solvers
}{{20_000_000, 120}, {150_000_000, 8}, {0, 1}}

// frontierCache is what the queries of a frontier share.
type frontierCache struct {
	pricings map[string]*pricing // by collective and number of steps
}

// pricing returns what is known of a problem's branchings, or nil if they are not examined.
func (f *frontierCache) pricing(p *problem) *pricing {
	key := fmt.Sprint(p.Collective.Name, " ", p.Steps)
	b, ok := f.pricings[key]
	if !ok {
		b = p.newPricing()
		f.pricings[key] = b
	}
	return b
}

// solveCopies answers a query that bounds leave open, with the splits of its rounds in open;
// nil means all.
func (p *problem) solveCopies(ctx context.Context, s *solver.Pool, budget solveBudget, open [][]int) (Answer, error) {
	var b *pricing
	if p.frontier != nil {
		b = p.frontier.pricing(p)
	} else {
		if a, err := p.solve(ctx, s, budget.share(1, solverShare), open); err != nil || a.Status != solver.Timeout {
			return a, err
		}
		b = p.newPricing()
	}
	if b == nil || !b.covers(p) || budget.left() < onePricing {
		return p.solve(ctx, s, budget, open)
	}
	limit := s.Timeout()
	if budget.work != nil {
		limit = budget.left()
	}
	whole := int(limit.Seconds() * sumsPerSecond)
	open, fitting := b.judgeSplits(p, open, b.limit(ctx, budget, whole/judgeShare))
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if open != nil && len(open) == 0 {
		return Answer{Status: solver.Unsat, By: Bound, Detail: b.describeExcluded(p)}, nil
	}
	if len(fitting) == 0 {
		return p.solve(ctx, s, budget, open)
	}
	var a Answer
	for i, turn := range turns {
		if i == 0 && p.frontier == nil {
			continue // solvers have had theirs
		}
		if turn.sums == 0 {
			turn.sums = whole / 3
		}
		if sched := b.pack(ctx, budget, p, fitting, turn.sums); sched != nil {
			return Answer{Status: solver.Sat, By: Packing, Schedule: sched}, nil
		}
		var err error
		if a, err = p.solve(ctx, s, budget.within(max(budget.left()/turn.solver, leastShare)), open); err != nil || a.Status != solver.Timeout {
			return a, err
		}
	}
	return a, nil
}

// limit returns a function that reports whether as many additions, or the time, are used up,
// and counts the work of what was added since it was last called.
func (b *pricing) limit(ctx context.Context, budget solveBudget, sums int) func() bool {
	from, counted := b.additions, b.additions
	return func() bool {
		budget.spend(time.Duration(float64(b.additions-counted) / sumsPerSecond * float64(time.Second)))
		counted = b.additions
		return b.additions-from >= sums || budget.spent(ctx)
	}
}

// judgeSplits returns the splits of a query's rounds that no prices exclude, and those of
// them that the linear program fits, the likeliest to be packed first. left is nil if the
// splits are too many to be listed.
func (b *pricing) judgeSplits(p *problem, open [][]int, over func() bool) (left, fitting [][]int) {
	defer over()
	if len(open) > fewSplits || open == nil {
		b.least(nil, over)
	}
	if open != nil {
		return b.judgeEach(p, open, over)
	}
	if b.ideal != nil {
		_, fitting = b.judgeEach(p, nearSplits(b.ideal, p.Rounds), over)
	}
	for known := -1; known < len(b.cuts); { // each turn cuts more splits off
		known = len(b.cuts)
		open, all := b.splits(p.Collective.Chunks, p.Rounds, over)
		done := len(fitting) > 0 || over()
		if !done {
			open, fitting = b.judgeEach(p, open, over)
		}
		if left = nil; all {
			left = open
		}
		if done {
			break
		}
	}
	return left, fitting
}

const (
	// maxPartialSplits limits how many partial splits are examined, and checkSplits is how
	// many are examined between two looks at the clock.
	maxPartialSplits = 100_000
	checkSplits      = 1 << 10
)

// splits lists the splits of rounds that the known cuts do not exclude. all reports whether
// these are all; there may be too many to examine.
func (b *pricing) splits(chunks, rounds int, over func() bool) (open [][]int, all bool) {
	now := make([]int, b.steps)
	examined := 0
	var fill func(at, left int) bool
	fill = func(at, left int) bool {
		if examined++; examined > maxPartialSplits || len(open) > maxSplits || examined%checkSplits == 0 && over() {
			return false
		}
		for _, c := range b.cuts {
			if c.exhausted(chunks, now[:at], left) {
				return true
			}
		}
		if at == b.steps-1 {
			now[at] = left
			open = append(open, slices.Clone(now))
			return true
		}
		for n := 1; n <= left-(b.steps-1-at); n++ {
			now[at] = n
			if !fill(at+1, left-n) {
				return false
			}
		}
		return true
	}
	open = [][]int{}
	all = fill(0, rounds)
	return open, all
}

// judgeEach judges splits by rising distance from the best one, until maxPacked of them fit.
func (b *pricing) judgeEach(p *problem, open [][]int, over func() bool) (left, fitting [][]int) {
	open = slices.Clone(open)
	if b.ideal != nil {
		off := func(split []int) (sum float64) {
			for t, n := range split {
				sum += math.Abs(float64(n) - b.ideal[t]*float64(p.Rounds))
			}
			return sum
		}
		slices.SortStableFunc(open, func(x, y []int) int { return cmp.Compare(off(x), off(y)) })
	}
	left = [][]int{}
	for _, split := range open {
		found := unsettled
		if len(fitting) < maxPacked {
			found = b.judge(p.Collective.Chunks, split, over)
		} else if b.excludes(p.Collective.Chunks, split) {
			found = excluded
		}
		if found == excluded {
			continue
		}
		if left = append(left, split); found == fits {
			fitting = append(fitting, split)
		}
	}
	return left, fitting
}

// nearSplits lists splits of the rounds close to the best split of one round: rounded, and
// with one round moved from one step to another.
func nearSplits(ideal []float64, rounds int) (all [][]int) {
	first, sum := make([]int, len(ideal)), 0
	for t, x := range ideal {
		first[t] = max(1, int(math.Round(x*float64(rounds))))
		sum += first[t]
	}
	for ; sum != rounds; sum -= cmp.Compare(sum, rounds) { // rounding errors go to the largest
		first[slices.Index(first, slices.Max(first))] -= cmp.Compare(sum, rounds)
	}
	all = append(all, first)
	for more := range first {
		for less := range first {
			if next := slices.Clone(first); more != less && first[less] > 1 {
				next[more]++
				next[less]--
				all = append(all, next)
			}
		}
	}
	return all
}

// pack looks for a packing in one of the splits, with a number of additions. It returns nil
// if it finds none.
func (b *pricing) pack(ctx context.Context, budget solveBudget, p *problem, splits [][]int, sums int) Schedule {
	from := b.additions
	for i, split := range splits {
		over := b.limit(ctx, budget, (from+sums-b.additions)/(len(splits)-i))
		sched := b.packSplit(p, split, over)
		over()
		if sched != nil {
			return sched
		}
	}
	return nil
}

// describeExcluded says that no split of the rounds is left.
func (b *pricing) describeExcluded(p *problem) string {
	chunks, best := int64(p.Collective.Chunks), b.cuts[0]
	for _, c := range b.cuts {
		if r, than := c.ratio(), best.ratio(); r != nil && (than == nil || r.Cmp(than) > 0) {
			best = c
		}
	}
	text := fmt.Sprintf("with prices on links %s cost at least %d, and a round of any step is worth %d at most",
		plural(p.Collective.Chunks, "chunk"), best.need*chunks, slices.Max(best.capacity))
	if best.need*chunks <= slices.Max(best.capacity)*int64(p.Rounds) {
		return fmt.Sprintf("however the %d rounds are split among %s, chunks cost more than rounds are worth, at prices of links for each split; of all splits, %s", p.Rounds, plural(p.Steps, "step"), text)
	}
	return text
}
