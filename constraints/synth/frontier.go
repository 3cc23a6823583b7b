package synth

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/lists"
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
	// on every machine with the same solvers. If a time limit is met that the solvers were
	// opened with, their Notice is called. 0 means that only the solvers' time
	// limit applies, to each query.
	Work time.Duration
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
	return frontier(ctx, s, w.budget(), q, w)
}

func (w FrontierOptions) budget() solveBudget {
	if w.Work == 0 {
		return solveBudget{}
	}
	return solveBudget{work: &work{left: w.Work}}
}

func frontier(ctx context.Context, s *solver.Pool, budget solveBudget, q Query, w FrontierOptions) (points []Point, least *big.Rat, err error) {
	least = new(big.Rat) // nothing is known yet
	q.Steps, q.Rounds = 1, 1
	p, err := newProblem(ctx, q)
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
	p.frontier = &frontierCache{pricings: map[string]*pricing{}}
	var best *big.Rat
	var late error // of numbers of steps whose part of the time ended
	for steps := from; steps <= w.Steps && (best == nil || best.Cmp(least) > 0); steps++ {
		part, cancel := w.timeFor(ctx, w.Steps-steps+1)
		point, err := p.pointAt(part, s, budget, w, steps, least, best)
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
			sources = lists.UpTo(p.net.ranks)
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
func (p *problem) pointAt(ctx context.Context, s *solver.Pool, budget solveBudget, w FrontierOptions, steps int, least, best *big.Rat) (*Point, error) {
	if p.ratioQueue(w, steps, least, best).Len() == 0 {
		return nil, nil // with so few chunks there is no ratio to try
	}
	low, err := p.boundAt(ctx, s, w.share(budget), steps, least)
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
	point, err := p.leastAt(ctx, s, budget, w, steps, p.ratioQueue(w, steps, from, best))
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
func (p *problem) boundAt(ctx context.Context, s *solver.Pool, budget solveBudget, steps int, least *big.Rat) (low *ratioBound, err error) {
	budget = budget.query(s)
	none, err := p.singleChunkInfeasible(ctx, s, budget.share(1, 8), steps)
	if none != nil || err != nil {
		return none, err
	}
	one, err := p.withChunks(1, steps, steps)
	if err != nil {
		return nil, err
	}
	low, err = one.cutBound(ctx, budget, least)
	if err != nil {
		return nil, err
	}
	if low != nil {
		least = low.ratio
	}
	if b := p.frontier.pricing(one); b != nil {
		if priced := b.least(least, b.limit(ctx, budget, boundOperations)); priced != nil && priced.ratio.Cmp(least) > 0 {
			low = priced
		}
	}
	return low, ctx.Err()
}

// boundOperations limits the additions for the bound by dual prices, to about a second.
const boundOperations = 400_000_000

// leastAt asks for one ratio after another until there is a routing. If there is none, or the
// context ends, the point has no chunks.
func (p *problem) leastAt(ctx context.Context, s *solver.Pool, budget solveBudget, w FrontierOptions, steps int, l *ratioQueue) (*Point, error) {
	point := &Point{Steps: steps, Proved: true}
	var open ratioSkip
	var refuted refutedSet
	for {
		try, last, more := l.next()
		if !more {
			return point, nil
		}
		if err := ctx.Err(); err != nil {
			return point, err
		}
		if refuted.covers(try) {
			point.Implied++
			continue
		}
		if open.skips(try, last) {
			point.Skipped++
			continue
		}
		a, err := p.ask(ctx, s, w.share(budget), try, steps)
		if err != nil {
			return point, err
		}
		if w.OnAnswer != nil {
			w.OnAnswer(try.chunks, steps, try.rounds, a)
		}
		switch a.Status {
		case solver.Sat:
			point.Answer, point.Chunks, point.Rounds = a, try.chunks, try.rounds
			return point, nil
		case solver.Timeout:
			point.Proved = false
			open.widen(try)
		default:
			refuted.add(try)
		}
		point.Refuted = append(point.Refuted, Refuted{try.chunks, steps, try.rounds, a.Status, a.By, a.Seconds, a.Detail})
	}
}

// ask answers one query of the frontier.
func (p *problem) ask(ctx context.Context, s *solver.Pool, budget solveBudget, try rcRatio, steps int) (Answer, error) {
	return answer(ctx, s, budget, func(until context.Context) (*problem, error) {
		on := *p
		on.ctx = until
		return on.withChunks(try.chunks/p.perChunk(), steps, try.rounds)
	})
}

// share returns the budget of a query: a part of the work of the frontier.
func (w FrontierOptions) share(budget solveBudget) solveBudget {
	if w.Work == 0 {
		return budget
	}
	return budget.within(w.Work / workShare)
}
