package synth

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/solver"
)

// This file decides when branchings are used to answer a query: what tolls on them
// prove (branchtolls.go), and what mixes of them answer (branchmix.go), compared
// with asking a solver.

const (
	// firstShare is the part of a query's time that solvers get before any of
	// this, and judgeShare the part for judging splits of rounds.
	firstShare = 30
	judgeShare = 20
	// glanceSums and quickSums limit the additions made in search of a mix before
	// solvers get glanceShare and tryShare of the time: some hundredths and some
	// tenths of a second. After that, mixes get mixShare.
	glanceSums  = 20_000_000
	quickSums   = 150_000_000
	glanceShare = 120
	tryShare    = 8
	mixShare    = 3
	// leastGlance is the time it takes to begin at all.
	leastGlance = 100 * time.Millisecond
	// oneLook is the time for setting tolls once.
	oneLook = 50 * time.Millisecond
	// fewSplits is the number of splits up to which each is judged by itself,
	// without looking for bounds on all of them.
	fewSplits = 30
	// manyFit is for how many of the splits that a mix fits in fractions a whole
	// mix is looked for.
	manyFit = 8
)

// weighed is what tolls and mixes of branchings say about a query.
type weighed struct {
	*branches
	p    *problem
	ask  solveBudget
	all  bool    // all splits but those left are excluded
	left [][]int // splits that tolls do not exclude
	good [][]int // those of left that mixes fit in fractions
	end  int     // limit on additions
	part int     // additions that count as a second of the query's time
}

// solveBranched answers a query by solvers and branchings in turn. Solvers are
// usually better at small or tight queries, and mixes of branchings at those with
// some room.
func (p *problem) solveBranched(s *solver.Pool, ask solveBudget, open [][]int) (Answer, error) {
	if ask.branches == nil { // a frontier search has learnt much by now, a single query nothing
		if a, err := p.solve(s, ask.share(1, firstShare), open); err != nil || a.Status != solver.Timeout {
			return a, err
		}
	}
	w := p.weigh(s, ask, open)
	if w == nil {
		if ask.mixed {
			return Answer{Status: solver.Timeout, By: Mixing}, nil
		}
		return p.solve(s, ask, open)
	}
	if err := ask.ctx.Err(); err != nil {
		return Answer{}, err
	}
	if w.all && len(w.left) == 0 {
		return Answer{Status: solver.Unsat, By: Bound, Detail: w.tell(p)}, nil
	}
	if ask.mixed {
		if sched := w.mixed(quickSums); sched != nil {
			return Answer{Status: solver.Sat, By: Mixing, Schedule: sched}, nil
		}
		return Answer{Status: solver.Timeout, By: Mixing}, ask.ctx.Err()
	}
	if w.all {
		open = w.left
	}
	if len(w.good) == 0 {
		return p.solve(s, ask, open)
	}
	return w.inTurns(s, open)
}

// inTurns answers a query that mixes fit in fractions: mixes and solvers get a
// little time each, then more each.
func (w *weighed) inTurns(s *solver.Pool, open [][]int) (a Answer, err error) {
	for _, turn := range []struct {
		sums  int
		share time.Duration
	}{
		{glanceSums, glanceShare},
		{quickSums, tryShare},
		{w.part / mixShare, 1},
	} {
		if turn.share == glanceShare && w.ask.branches == nil {
			continue // solvers have had theirs
		}
		if sched := w.mixed(turn.sums); sched != nil {
			return Answer{Status: solver.Sat, By: Mixing, Schedule: sched}, nil
		}
		ask := w.ask.within(max(w.ask.left()/turn.share, leastGlance))
		if a, err = w.p.solve(s, ask, open); err != nil || a.Status != solver.Timeout {
			return a, err
		}
	}
	return a, nil
}

// weigh judges the open splits of a query's rounds (nil: all). It returns nil if
// branchings are not examined for this problem.
func (p *problem) weigh(s *solver.Pool, ask solveBudget, open [][]int) *weighed {
	b := ask.branches.grow(p)
	if b == nil || !b.speaksOf(p) || ask.left() < oneLook {
		return nil
	}
	limit := s.Timeout()
	if ask.meter != nil {
		limit = ask.left()
	}
	w := &weighed{branches: b, p: p, ask: ask, all: true, part: int(limit.Seconds() * sumsPerSecond)}
	from := b.sums
	defer func() { ask.charge(b.sums - from) }()
	w.end = from + w.part/judgeShare
	if len(open) > fewSplits || open == nil {
		b.least(nil, w.over)
	}
	if open != nil {
		w.left, w.good = b.judged(p, open, w.over)
		return w
	}
	_, w.good = b.judged(p, b.near(p.Rounds), w.over)
	for known := -1; known < len(b.cuts); { // each round cuts more splits off
		known = len(b.cuts)
		if open, w.all = b.splits(p.Rounds, p.Collective.Chunks, w.over); len(w.good) > 0 || w.over() {
			break
		}
		open, w.good = b.judged(p, open, w.over)
	}
	w.left = open
	return w
}

// over reports whether the additions or the time are used up.
func (w *weighed) over() bool { return w.sums >= w.end || w.ask.over() }

// mixed looks for a mix of branchings with so many additions. It returns nil if
// none is found.
func (w *weighed) mixed(sums int) Schedule {
	from := w.sums
	defer func() { w.ask.charge(w.sums - from) }()
	for i, split := range w.good {
		w.end = w.sums + (from+sums-w.sums)/(len(w.good)-i)
		if sched := w.mix(w.p, split, w.over); sched != nil {
			return sched
		}
	}
	return nil
}

// forest keeps what a frontier search has learnt about branchings, by collective and number
// of steps.
type forest map[string]*branches

// of returns what is known, or nil.
func (f forest) of(collective string, steps int) *branches {
	return f[fmt.Sprint(collective, " ", steps)]
}

// grow returns what is known about a problem's branchings, beginning if necessary.
// It is nil if branchings are not examined for this problem.
func (f forest) grow(p *problem) *branches {
	if p.reduces && !p.sumsEverywhere() {
		p = p.reversedProblem()
	}
	if b := f.of(p.Collective.Name, p.Steps); b != nil {
		return b
	}
	b := p.branch()
	if f != nil && b != nil {
		f[fmt.Sprint(p.Collective.Name, " ", p.Steps)] = b
	}
	return b
}

// over reports whether there is no time left, by the clock.
func (a solveBudget) over() bool {
	return a.ctx.Err() != nil || a.meter == nil && a.left() <= 0
}

// charge adds what additions cost to the meter.
func (a solveBudget) charge(sums int) {
	if a.meter != nil {
		a.meter.done += time.Duration(float64(sums) / sumsPerSecond * float64(time.Second))
	}
}

// speaksOf reports whether a problem has the same classes of items, each a fixed
// number of times as large.
func (b *branches) speaksOf(p *problem) bool {
	return slices.EqualFunc(p.classes, b.one.classes, func(c, o []int) bool {
		mine, its := &b.one.items[o[0]], &p.items[c[0]]
		return len(c) == len(o)*p.Collective.Chunks && mine.source == its.source && slices.Equal(mine.wanted, its.wanted)
	})
}

// near lists splits of the rounds close to the best one in fractions: rounded, and
// with one round moved from one step to another.
func (b *branches) near(rounds int) (all [][]int) {
	if b.ideal == nil {
		return nil
	}
	return nearly(b.ideal, rounds)
}

// nearly is near for a given best split of one round.
func nearly(ideal []float64, rounds int) (all [][]int) {
	first, sum := make([]int, len(ideal)), 0
	for t, x := range ideal {
		first[t] = max(1, int(math.Round(x*float64(rounds))))
		sum += first[t]
	}
	for ; sum != rounds; sum -= cmp.Compare(sum, rounds) { // rounding errors go to the largest
		at := slices.Index(first, slices.Max(first))
		first[at] -= cmp.Compare(sum, rounds)
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

// splits lists the splits of rounds that the known cuts do not exclude for so many
// chunks. all reports whether these are all, as there may be too many to examine.
func (b *branches) splits(rounds, chunks int, over func() bool) (open [][]int, all bool) {
	steps := b.steps
	now := make([]int, steps)
	work := 0
	var fill func(at, left int) bool
	fill = func(at, left int) bool {
		if work++; work > manySplit || len(open) > maxSplits || work%looks == 0 && over() {
			return false
		}
		for _, c := range b.cuts {
			if c.exhausted(chunks, now[:at], left) {
				return true
			}
		}
		if at == steps-1 {
			now[at] = left
			open = append(open, slices.Clone(now))
			return true
		}
		for n := 1; n <= left-(steps-1-at); n++ {
			now[at] = n
			if !fill(at+1, left-n) {
				return false
			}
		}
		return true
	}
	all = fill(0, rounds)
	return open, all
}

const (
	// manySplit limits how many partial splits are examined, and looks is how many
	// are examined between two looks at the clock.
	manySplit = 100_000
	looks     = 1 << 10
)

// exhausted reports whether, with the given rounds of the first steps, a cut can't
// be met however the remaining rounds are split.
func (c cutInequality) exhausted(chunks int, first []int, left int) bool {
	passes, most := int64(0), int64(0)
	for t, room := range c.capacity {
		if t < len(first) {
			passes += room * int64(first[t])
			continue
		}
		passes += room // every step has at least one
		left--
		most = max(most, room)
	}
	return passes+most*int64(left) < c.need*int64(chunks)
}

// judged lists the splits that are not excluded, beginning with those that mixes
// fit in fractions, which are sorted by their distance from the best split.
func (b *branches) judged(p *problem, open [][]int, over func() bool) (left, good [][]int) {
	off := func(split []int) (sum float64) {
		for t, n := range split {
			sum += math.Abs(float64(n) - b.ideal[t]*float64(p.Rounds))
		}
		return sum
	}
	near := slices.Clone(open)
	if b.ideal != nil {
		slices.SortStableFunc(near, func(x, y []int) int { return cmp.Compare(off(x), off(y)) })
	}
	for _, split := range near {
		found := unsettled
		if len(good) < manyFit {
			found = b.judge(p.Collective.Chunks, split, over)
		} else if b.excludes(p.Collective.Chunks, split) {
			found = excluded
		}
		switch found {
		case excluded:
			continue
		case fits:
			good = append(good, split)
		}
		left = append(left, split)
	}
	return left, good
}

// tell says that no split of the rounds is left.
func (b *branches) tell(p *problem) string {
	best := b.cuts[0]
	for _, c := range b.cuts {
		if r, than := c.ratio(), best.ratio(); r != nil && (than == nil || r.Cmp(than) > 0) {
			best = c
		}
	}
	text := fmt.Sprintf("with tolls on links %s pay no less than %d, and a round of any step brings %d at most",
		plural(p.Collective.Chunks, "chunk"), best.need*int64(p.Collective.Chunks), slices.Max(best.capacity))
	if best.need*int64(p.Collective.Chunks) <= slices.Max(best.capacity)*int64(p.Rounds) {
		return fmt.Sprintf("however the %d rounds are split among %s, tolls on links are more than rounds bring, each split's own: of all splits, %s", p.Rounds, plural(p.Steps, "step"), text)
	}
	return text
}
