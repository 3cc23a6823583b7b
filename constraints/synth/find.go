package synth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// Find answers a query. A routing is returned only after Replay has confirmed it; Unsat is
// the result of a bound or a solver. The error is a *QueryError, ctx's, or the solvers'
// faults if all of them failed.
func Find(ctx context.Context, s *solver.Pool, q Query) (Answer, error) {
	return answer(ctx, s, solveBudget{}, func(until context.Context) (*problem, error) { return newProblem(until, q) })
}

// answer answers the query of the problem that build returns, within a query's part of the
// budget.
func answer(ctx context.Context, s *solver.Pool, budget solveBudget, build func(until context.Context) (*problem, error)) (Answer, error) {
	start := time.Now()
	budget = budget.query(s)
	limit := budget.left()
	until, cancel := budget.context(ctx)
	defer cancel()
	p, err := build(until)
	var a Answer
	if err == nil {
		a, err = p.find(ctx, s, budget)
	}
	if onlyLate(ctx, err) {
		by := Bound
		if errors.Is(err, constraints.ErrDeadline) { // the time ran out while stating a solver's formula
			by = s.Solvers()[0]
		}
		a, err = Answer{Status: solver.Timeout, By: by, Detail: inTime}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	if a.Detail == inTime {
		a.Detail = fmt.Sprintf("no answer within %v", limit.Round(time.Millisecond))
	}
	if p != nil { // otherwise it could not be built in time
		a.Unit, a.Items = p.net.unit, p.names()
	}
	if a.Status == solver.Sat {
		if err := Replay(p.Query, a.Unit, a.Items, a.Schedule); err != nil {
			return Answer{}, fmt.Errorf("routing by %s: %w", a.By, err)
		}
	}
	a.Seconds = time.Since(start).Seconds()
	return a, nil
}

func (p *problem) find(ctx context.Context, s *solver.Pool, budget solveBudget) (Answer, error) {
	if a, found, err := p.findKnown(); found || err != nil {
		return a, err
	}
	if p.frontier == nil { // otherwise R/C is at least this bound
		r := p.belowRateBound()
		if err := p.ctx.Err(); err != nil {
			return Answer{}, err
		}
		if r != nil {
			return Answer{Status: solver.Unsat, By: Bound, Detail: r.Reason}, nil
		}
	}
	if p.reduces {
		return p.findReduce(ctx, s, budget)
	}
	return p.findCopy(ctx, s, budget)
}

// findReduce answers a query whose chunks are combined at one rank each: it copies them from
// there on the reversed network, and reverses the schedule.
func (p *problem) findReduce(ctx context.Context, s *solver.Pool, budget solveBudget) (Answer, error) {
	for _, it := range p.items {
		if len(it.wanted) > 1 {
			return p.findAllReduce(ctx, s, budget)
		}
	}
	a, err := p.reversedProblem().findCopy(ctx, s, budget)
	a.Schedule = a.Schedule.reversed()
	return a, err
}

// findCopy answers a query whose chunks are copied.
func (p *problem) findCopy(ctx context.Context, s *solver.Pool, budget solveBudget) (Answer, error) {
	until, cancel := budget.context(ctx)
	defer cancel()
	if p.frontier != nil {
		if b := p.frontier.pricing(p); b != nil && b.covers(p) {
			p.automorphismCache = b.one.automorphismCache // they do not depend on the number of chunks
		}
	}
	open, refuted, err := p.bound(until)
	if err != nil {
		return Answer{}, err
	}
	if refuted != nil {
		return Answer{Status: solver.Unsat, By: Bound, Detail: refuted.Reason}, nil
	}
	if sched, ok := p.flowRouting(open); ok {
		return Answer{Status: solver.Sat, By: Bound, Schedule: sched}, nil
	}
	return p.solveCopies(ctx, s, budget, open)
}
