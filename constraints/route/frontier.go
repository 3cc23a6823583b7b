package route

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/constraints"
)

// Point is a point on the frontier of latency against bandwidth: no routing in as
// few steps has a smaller R/C, as far as Proof goes.
type Point struct {
	Answer
	Chunks, Steps, Rounds int // Chunks as the literature counts them: see ChunksOf
	// Optimal means that no routing at all, whatever its chunks and steps, has a
	// smaller R/C, because it equals the bound.
	Optimal bool
	// Proved means that none in as many steps has, with the numbers of chunks that
	// were tried: all up to Walk.Chunks, or for an allreduce 1, 2 and multiples of
	// the ranks.
	Proved bool
	// Proof says why, or what is missing.
	Proof   string
	Refuted []Refuted
	// Followed counts queries that were not asked, because they follow from a
	// refuted one: they have at least as many chunks in no more rounds.
	Followed int
	Skipped  int // queries not asked because one with a smaller R/C was not settled in time
}

// Refuted is a query with a smaller R/C for which no routing was found.
type Refuted struct {
	Chunks, Steps, Rounds int
	Status                constraints.Status // Unsat or Timeout
	By                    string
	Seconds               float64
	Detail                string
}

// Walk says how far to look for the frontier.
type Walk struct {
	Chunks int // limit; 0 means 6 for each rank, or as many as there can be
	Steps  int // limit; 0 means 3 more than twice the least
	// Work limits the work of all queries together. Solvers are then asked one
	// after the other, and no query does more than an eighth of it, so that the
	// walk is the same on every machine with the same solvers. Time limits remain
	// as a last resort; if one is met, Options.Notice is told. 0 means that only
	// the solvers' own time limit applies, to each query.
	Work  time.Duration
	meter *meter // the work done so far

	gathered map[int]*tollkeeper // by steps: see asker
	branches forest
	// Tell, if not nil, is called with each query when it is answered.
	Tell func(chunks, steps, rounds int, a Answer)
}

// Frontier walks the frontier of a query's collective; the query's own chunks,
// steps and rounds do not matter. For each number of steps, from the fewest on, it
// asks for ever larger R/C, beginning with what bounds leave possible, until there
// is a routing. It ends when the bound is met, or at a limit of w. It also returns
// the least R/C that any routing can have. The error is a *NoneError where w leaves
// fewer steps than any routing takes, and context.DeadlineExceeded where time ended,
// if only a number of steps' part of it, before that number was done.
func Frontier(ctx context.Context, s *constraints.Solvers, q Query, w Walk) (points []Point, least *big.Rat, err error) {
	defer constraints.RecoverDeadline(&err)
	least = new(big.Rat) // nothing is known yet
	q.Steps, q.Rounds = 1, 1
	p, err := q.on(nil, ctx)
	if err == nil {
		err = p.fill()
	}
	if err != nil {
		return nil, least, err
	}
	unit, most := p.perChunk(), p.mostChunks()
	if w.Chunks == 0 {
		w.Chunks = 6 * unit
		if q.Collective.Name == "allreduce" {
			w.Chunks = 6 * p.net.ranks
		}
		w.Chunks = min(w.Chunks, most)
	}
	if w.Work > 0 && w.meter == nil {
		w.meter = &meter{}
	}
	if w.Chunks > most {
		return nil, least, &QueryError{fmt.Errorf("%d chunks: want at most %d of %s over %d ranks", w.Chunks, most, q.Collective.Name, q.Collective.Ranks)}
	}
	if w.Chunks < unit {
		return nil, least, &QueryError{fmt.Errorf("%d chunks: want at least %d", w.Chunks, unit)}
	}
	from, err := p.diameter()
	if err != nil {
		return nil, least, err
	}
	switch ratio := p.ratio(); {
	case ctx.Err() != nil: // an answer after the end can't be relied on
		return nil, least, ctx.Err()
	case ratio == nil:
		return nil, least, &QueryError{fmt.Errorf("%s over %d ranks moves nothing", q.Collective.Name, q.Collective.Ranks)}
	default:
		least = ratio
	}
	switch {
	case w.Steps == 0:
		w.Steps = 2*from + 3
	case w.Steps > maxSteps:
		return nil, least, &QueryError{fmt.Errorf("%d steps: want at most %d", w.Steps, maxSteps)}
	case w.Steps < from:
		return nil, least, &NoneError{fmt.Errorf("%s on %s takes %s or more: there is none in %d", q.Collective.Name, q.Topology.Name, many(from, "step"), w.Steps)}
	}
	w.gathered, w.branches = map[int]*tollkeeper{}, forest{}
	var best *big.Rat
	var late error // of numbers of steps whose part of the time ended
	for steps := from; steps <= w.Steps && (best == nil || best.Cmp(least) > 0); steps++ {
		part, cancel := w.part(ctx, w.Steps-steps+1)
		point, err := p.at(part, s, w, steps, least, best)
		cancel()
		if point != nil {
			points = append(points, *point)
			best = big.NewRat(int64(point.Rounds), int64(point.Chunks))
		}
		switch {
		case err == nil:
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			late = err
		default:
			return points, least, err
		}
	}
	return points, least, late
}

// diameter is the fewest steps that any routing has.
func (p *problem) diameter() (int, error) {
	most := 1
	for i := range p.items {
		it := &p.items[i]
		sources := []int{it.source}
		if it.source < 0 {
			sources = rising(p.net.ranks)
		}
		for _, a := range sources {
			for _, b := range it.wanted {
				d := int(p.net.dist[a][b])
				if d < 0 {
					return 0, &QueryError{fmt.Errorf("%s: %s", p.Topology.Name, p.noWay(a, b))}
				}
				most = max(most, d)
			}
		}
	}
	return most, nil
}

// chunkCounts lists the numbers of chunks to try: all up to the limit or, for an
// allreduce, those that can be divided evenly, and a few small ones.
func (p *problem) chunkCounts(most int) []int {
	var all []int
	unit := p.perChunk()
	for c := unit; c <= most; c += unit {
		if p.Collective.Name == "allreduce" && c > 2 && c%p.net.ranks != 0 {
			continue
		}
		all = append(all, c)
	}
	return all
}

// at finds the least R/C in so many steps that is below best, if that is given.
func (p *problem) at(ctx context.Context, s *constraints.Solvers, w Walk, steps int, least, best *big.Rat) (*Point, error) {
	if p.ladder(w, steps, least, best).Len() == 0 {
		return nil, nil // so few chunks leave nothing to ask, whatever the bound
	}
	low, err := p.low(ctx, s, w, steps, least)
	if err != nil || low != nil && low.ratio == nil {
		return nil, err
	}
	from := least
	if low != nil && best != nil && low.ratio.Cmp(best) >= 0 {
		return nil, nil
	}
	if low != nil {
		from = low.ratio
	}
	c := &climb{p: p, s: s, w: w, steps: steps}
	defer c.forget()
	point, err := c.up(ctx, p.ladder(w, steps, from, best))
	for err == errDenied { // at most once: then no formula is kept
		point, err = c.up(ctx, p.ladder(w, steps, from, best))
	}
	if point.Chunks == 0 || err != nil && ctx.Err() == nil {
		return nil, err
	}
	ratio := big.NewRat(int64(point.Rounds), int64(point.Chunks))
	point.Optimal = ratio.Cmp(least) == 0
	point.Proved = point.Proved || ratio.Cmp(from) == 0
	point.Proof = point.prove(p.tried(w), low, w.Work == 0)
	return point, err
}

// climbShare is the part of the time left, one in so many, that one number of steps
// gets.
const climbShare = 3

// part leaves a part of a context's time, where it has a deadline, for one of so many
// numbers of steps: with more of them, routings may be easier to find.
func (w Walk) part(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || w.Work > 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(min(climbShare, left)))
}

// low is a lower bound on R/C in so many steps, by flows and tolls. It is nil if
// it is not above the bound for any number of steps, or not found in time. It has
// no ratio if there is no routing in so many steps at all.
func (p *problem) low(ctx context.Context, s *constraints.Solvers, w Walk, steps int, least *big.Rat) (low *floor, err error) {
	defer constraints.RecoverDeadline(&err)
	ask := w.asker(ctx).query(s)
	one, err := p.oneChunk(steps)
	if err != nil {
		return nil, err
	}
	none, err := p.hopeless(s, ask.share(1, 8), steps)
	if none != nil || err != nil {
		return none, err
	}
	low, err = one.flowing(ask, least)
	if low != nil {
		least = low.ratio
	}
	if err != nil {
		return nil, err
	}
	if b := w.branches.grow(one); b != nil {
		from := b.sums
		if f := b.least(least, func() bool { return b.sums-from > lowSums || ask.over() }); f != nil && f.ratio.Cmp(least) > 0 {
			low, least = f, f.ratio
		}
		ask.charge(b.sums - from)
		err = ask.ctx.Err()
	}
	if err == nil {
		var tolls *floor
		if tolls, err = one.tolled(s, ask, steps, least); tolls != nil {
			low = tolls
		}
	}
	return low, err
}

// lowSums limits the additions for the bound by tolls on branchings, to about a
// second.
const lowSums = 400_000_000

// tried says which numbers of chunks a walk tries.
func (p *problem) tried(w Walk) string {
	if p.Collective.Name == "allreduce" && w.Chunks > 2 {
		return fmt.Sprintf("1, 2 or a multiple of %d up to %d chunks", p.net.ranks, w.Chunks)
	}
	return fmt.Sprintf("up to %d chunks", w.Chunks)
}

// prove puts what is known about a point into a sentence. For a walk by the clock
// it includes the time taken; otherwise the sentence is the same every time.
func (pt *Point) prove(tried string, low *floor, timed bool) string {
	ratio := big.NewRat(int64(pt.Rounds), int64(pt.Chunks))
	below := ""
	if low != nil {
		below = fmt.Sprintf("%s in %s, whatever the chunks, by %s%s: %s", roundsEach(low.ratio), many(pt.Steps, "step"), low.by, took(low.seconds, timed), low.why)
	}
	switch {
	case pt.Optimal:
		return "meets the bound of " + roundsEach(ratio)
	case low != nil && low.ratio.Cmp(ratio) == 0:
		return "meets the bound of " + below
	case low != nil:
		return pt.refutations(tried, timed) + "; the bound is " + below
	}
	return pt.refutations(tried, timed)
}

func took(seconds float64, timed bool) string {
	if !timed {
		return ""
	}
	return fmt.Sprintf(" in %.2f s", seconds)
}

// roundsEach is R/C in words.
func roundsEach(ratio *big.Rat) string {
	if ratio.Cmp(big.NewRat(1, 1)) == 0 {
		return "1 round a chunk"
	}
	return ratio.RatString() + " rounds a chunk"
}

// refutations says what was asked before the point was found.
func (pt *Point) refutations(tried string, timed bool) string {
	if len(pt.Refuted) == 0 {
		return fmt.Sprintf("no smaller R/C is possible in %s with %s", many(pt.Steps, "step"), tried)
	}
	count, seconds := map[string]int{}, map[string]float64{}
	var by, open []string
	for _, r := range pt.Refuted {
		if r.Status != constraints.Unsat {
			open = append(open, fmt.Sprintf("(%d,%d,%d)", r.Chunks, r.Steps, r.Rounds))
			continue
		}
		if count[r.By] == 0 {
			by = append(by, r.By)
		}
		count[r.By]++
		seconds[r.By] += r.Seconds
	}
	slices.Sort(by)
	for i, b := range by {
		by[i] = fmt.Sprintf("%d by %s%s", count[b], b, took(seconds[b], timed))
	}
	var said []string
	if len(open) > 0 {
		said = append(said, fmt.Sprintf("not proved: %s not settled in time, %d not asked", strings.Join(open, " "), pt.Skipped))
	}
	if len(by) > 0 {
		said = append(said, fmt.Sprintf("smaller R/C in %s with %s refuted: %s", many(pt.Steps, "step"), tried, strings.Join(by, ", ")))
	}
	return strings.Join(said, "; ")
}
