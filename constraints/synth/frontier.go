package synth

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// Point is a point of the Pareto frontier of latency (Steps) and bandwidth (Rounds ÷
// Chunks).
type Point struct {
	Answer
	Chunks, Steps, Rounds int // Chunks as the literature counts them: see ChunksOf
	// Optimal means that no routing of any number of chunks and steps has a smaller
	// R/C, because this one equals the bound.
	Optimal bool
	// Proved means that no routing in as many steps has a smaller R/C, with the numbers
	// of chunks that were tried: all up to FrontierOptions.Chunks; for an allreduce 1,
	// 2 and multiples of the ranks.
	Proved bool
	// Proof says why, or what is missing.
	Proof   string
	Refuted []Refuted
	// Implied counts queries that were not asked because a refuted one implies that
	// they have no routing: they have at least as many chunks in no more rounds.
	Implied int
	Skipped int // queries not asked because one with a smaller R/C was not settled in time
}

// Refuted is a query with a smaller R/C than the point's for which no routing was found.
type Refuted struct {
	Chunks, Steps, Rounds int
	Status                solver.Status // Unsat or Timeout
	By                    string
	Seconds               float64
	Detail                string
}

// FrontierOptions limits the search for a frontier.
type FrontierOptions struct {
	Chunks int // limit; 0 means 6 for each rank, or the largest possible number
	Steps  int // limit; 0 means twice the fewest steps plus 3
	// Work limits the work of all queries together, and of each query to an eighth of
	// it. Solvers are then asked one after the other, so that the frontier is the same
	// on every machine with the same solvers. Time limits remain as a last resort; if
	// one is met, the solvers' Notice is called. 0 means that only the solvers' time
	// limit applies, to each query.
	Work  time.Duration
	meter *meter // the work done so far

	gathered map[int]*tollkeeper // by steps: see solveBudget
	branches forest
	// OnAnswer, if not nil, is called with each query when it is answered, on the
	// caller's goroutine.
	OnAnswer func(chunks, steps, rounds int, a Answer)
}

// Frontier computes the Pareto frontier of a query's collective (SCCL, section 4); the
// query's own chunks, steps and rounds are ignored. For each number of steps, from the
// fewest on, it tries rising R/C from the least that bounds allow until there is a routing.
// It ends when a point meets the bound for any number of steps, or at a limit of w. least
// is that bound.
//
// The error is a *QueryError, a *TooFewStepsError, or ctx's; it is
// context.DeadlineExceeded also if only the part of the time for some number of steps
// ended. The points found until then are returned.
func Frontier(ctx context.Context, s *solver.Pool, q Query, w FrontierOptions) (points []Point, least *big.Rat, err error) {
	defer constraints.RecoverDeadline(&err)
	least = new(big.Rat) // nothing is known yet
	q.Steps, q.Rounds = 1, 1
	p, err := q.problemOn(nil, ctx)
	if err == nil {
		err = p.addItems()
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
	from, err := p.minSteps()
	if err != nil {
		return nil, least, err
	}
	switch ratio := p.leastRatio(); {
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
		return nil, least, &TooFewStepsError{fmt.Errorf("%s on %s takes %s or more: there is none in %d", q.Collective.Name, q.Topology.Name, plural(from, "step"), w.Steps)}
	}
	w.gathered, w.branches = map[int]*tollkeeper{}, forest{}
	var best *big.Rat
	var late error // of numbers of steps whose part of the time ended
	for steps := from; steps <= w.Steps && (best == nil || best.Cmp(least) > 0); steps++ {
		part, cancel := w.timeFor(ctx, w.Steps-steps+1)
		point, err := p.pointAt(part, s, w, steps, least, best)
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

// minSteps returns the fewest steps that any routing has.
func (p *problem) minSteps() (int, error) {
	most := 1
	for i := range p.items {
		it := &p.items[i]
		sources := []int{it.source}
		if it.source < 0 {
			sources = upTo(p.net.ranks)
		}
		for _, a := range sources {
			for _, b := range it.wanted {
				d := int(p.net.dist[a][b])
				if d < 0 {
					return 0, &QueryError{fmt.Errorf("%s: %s", p.Topology.Name, p.describeNoPath(a, b))}
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

// pointAt finds the least R/C in a number of steps that is below best, which may be nil.
func (p *problem) pointAt(ctx context.Context, s *solver.Pool, w FrontierOptions, steps int, least, best *big.Rat) (*Point, error) {
	if p.ratioQueue(w, steps, least, best).Len() == 0 {
		return nil, nil // with so few chunks there is no ratio to try
	}
	low, err := p.boundAt(ctx, s, w, steps, least)
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
	c := &ratioSearch{p: p, s: s, w: w, steps: steps}
	point, err := c.run(ctx, p.ratioQueue(w, steps, from, best))
	if point.Chunks == 0 || err != nil && ctx.Err() == nil {
		return nil, err
	}
	ratio := big.NewRat(int64(point.Rounds), int64(point.Chunks))
	point.Optimal = ratio.Cmp(least) == 0
	point.Proved = point.Proved || ratio.Cmp(from) == 0
	point.Proof = point.describeProof(p.describeTried(w), low, w.Work == 0)
	return point, err
}

// stepsShare is the divisor of the time left that one number of steps gets.
const stepsShare = 3

// timeFor returns a context with a part of the time left, if ctx has a deadline, for one of
// the left numbers of steps: with more steps, routings may be easier to find.
func (w FrontierOptions) timeFor(ctx context.Context, left int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok || w.Work > 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(min(stepsShare, left)))
}

// boundAt returns a lower bound on R/C in a number of steps, by flows and dual prices. It is
// nil if it is not above least, the bound for any number of steps, or not found in time. It
// has no ratio if there is no routing in that number of steps.
func (p *problem) boundAt(ctx context.Context, s *solver.Pool, w FrontierOptions, steps int, least *big.Rat) (low *ratioBound, err error) {
	defer constraints.RecoverDeadline(&err)
	ask := w.budget(ctx).query(s)
	one, err := p.oneChunk(steps)
	if err != nil {
		return nil, err
	}
	none, err := p.singleChunkInfeasible(s, ask.share(1, 8), steps)
	if none != nil || err != nil {
		return none, err
	}
	low, err = one.cutBound(ask, least)
	if low != nil {
		least = low.ratio
	}
	if err != nil {
		return nil, err
	}
	if b := w.branches.grow(one); b != nil {
		from := b.sums
		if f := b.least(least, func() bool { return b.sums-from > boundOperations || ask.over() }); f != nil && f.ratio.Cmp(least) > 0 {
			low, least = f, f.ratio
		}
		ask.charge(b.sums - from)
		err = ask.ctx.Err()
	}
	if err == nil {
		var tolls *ratioBound
		if tolls, err = one.tolled(s, ask, steps, least); tolls != nil {
			low = tolls
		}
	}
	return low, err
}

// boundOperations limits the additions for the bound by dual prices, to about a second.
const boundOperations = 400_000_000

// describeTried says which numbers of chunks are tried.
func (p *problem) describeTried(w FrontierOptions) string {
	if p.Collective.Name == "allreduce" && w.Chunks > 2 {
		return fmt.Sprintf("1, 2 or a multiple of %d up to %d chunks", p.net.ranks, w.Chunks)
	}
	return fmt.Sprintf("up to %d chunks", w.Chunks)
}

// describeProof puts the proof of a point into a sentence, with the time taken if timed.
func (pt *Point) describeProof(tried string, low *ratioBound, timed bool) string {
	ratio := big.NewRat(int64(pt.Rounds), int64(pt.Chunks))
	below := ""
	if low != nil {
		below = fmt.Sprintf("%s in %s, whatever the chunks, by %s%s: %s", formatRatio(low.ratio), plural(pt.Steps, "step"), low.by, formatTook(low.seconds, timed), low.why)
	}
	switch {
	case pt.Optimal:
		return "meets the bound of " + formatRatio(ratio)
	case low != nil && low.ratio.Cmp(ratio) == 0:
		return "meets the bound of " + below
	case low != nil:
		return pt.describeRefutations(tried, timed) + "; the bound is " + below
	}
	return pt.describeRefutations(tried, timed)
}

func formatTook(seconds float64, timed bool) string {
	if !timed {
		return ""
	}
	return fmt.Sprintf(" in %.2f s", seconds)
}

// formatRatio prints R/C.
func formatRatio(ratio *big.Rat) string {
	if ratio.Cmp(big.NewRat(1, 1)) == 0 {
		return "1 round a chunk"
	}
	return ratio.RatString() + " rounds a chunk"
}

// describeRefutations says which queries were asked before the point was found.
func (pt *Point) describeRefutations(tried string, timed bool) string {
	if len(pt.Refuted) == 0 {
		return fmt.Sprintf("no smaller R/C is possible in %s with %s", plural(pt.Steps, "step"), tried)
	}
	count, seconds := map[string]int{}, map[string]float64{}
	var by, open []string
	for _, r := range pt.Refuted {
		if r.Status != solver.Unsat {
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
		by[i] = fmt.Sprintf("%d by %s%s", count[b], b, formatTook(seconds[b], timed))
	}
	var said []string
	if len(open) > 0 {
		said = append(said, fmt.Sprintf("not proved: %s not settled in time, %d not asked", strings.Join(open, " "), pt.Skipped))
	}
	if len(by) > 0 {
		said = append(said, fmt.Sprintf("smaller R/C in %s with %s refuted: %s", plural(pt.Steps, "step"), tried, strings.Join(by, ", ")))
	}
	return strings.Join(said, "; ")
}
