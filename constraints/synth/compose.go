package synth

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
)

// findAllReduce answers a query for sums that are wanted in several places, such as an
// allreduce. It first composes a reducescatter and an allgather, and then looks for any
// routing. Only a bound or the second search can refute the query.
func (p *problem) findAllReduce(ctx context.Context, s *solver.Pool, budget solveBudget) (Answer, error) {
	open, refuted, err := p.boundSums(p.ctx)
	if err != nil {
		return Answer{}, err
	}
	if refuted != nil {
		return Answer{Status: solver.Unsat, By: Bound, Detail: refuted.Reason}, nil
	}
	sched, by, err := p.compose(ctx, s, budget.share(1, 4))
	if onlyLate(p.ctx, err) {
		err = nil
	}
	if err != nil || sched != nil {
		return Answer{Status: solver.Sat, By: by, Schedule: sched}, err
	}
	if p.frontier == nil { // otherwise it has been asked for all queries in as many steps
		none, err := p.singleChunkInfeasible(ctx, s, budget.share(1, 8), p.Steps)
		if err != nil {
			return Answer{}, err
		}
		if none != nil {
			return Answer{Status: solver.Unsat, By: none.by, Detail: none.why}, nil
		}
	}
	return p.solve(ctx, s, budget, open)
}

// part is the steps and rounds of the first of two phases.
type part struct{ steps, rounds int }

// compose looks for a reducescatter and an allgather that together keep to the
// query's steps and rounds. The schedule is nil if the chunks can't be divided evenly,
// or none are found.
func (p *problem) compose(ctx context.Context, s *solver.Pool, budget solveBudget) (Schedule, string, error) {
	n := p.net.ranks
	if p.Collective.Name != "allreduce" || p.Collective.Chunks%n != 0 {
		return nil, "", nil
	}
	var parts []part
	for steps := 1; steps < p.Steps; steps++ {
		for rounds := steps; p.Rounds-rounds >= p.Steps-steps; rounds++ {
			parts = append(parts, part{steps, rounds})
		}
	}
	off := func(a part) int {
		return max(2*a.steps-p.Steps, p.Steps-2*a.steps) + max(2*a.rounds-p.Rounds, p.Rounds-2*a.rounds)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(off(a), off(b)) })
	phase := func(name string, a part) (*problem, error) {
		c, err := collective.New(collective.Spec{Name: name, Ranks: n, Chunks: p.Collective.Chunks / n})
		if err != nil {
			return nil, err
		}
		return p.withCollective(c, a.steps, a.rounds)
	}
	for _, a := range parts {
		first, err := phase("reducescatter", a)
		if err != nil {
			return nil, "", err
		}
		second, err := phase("allgather", part{p.Steps - a.steps, p.Rounds - a.rounds})
		if err != nil {
			return nil, "", err
		}
		if schedule, by, err := inPhases(ctx, s, budget, first, second); schedule != nil || err != nil {
			return schedule, by, err
		}
	}
	return nil, "", nil
}

// inPhases answers a reducescatter and an allgather, one after the other. The
// schedule is nil if either has no routing, or none is found.
func inPhases(ctx context.Context, s *solver.Pool, budget solveBudget, first, second *problem) (Schedule, string, error) {
	bounds, cancel := budget.context(ctx)
	defer cancel()
	for _, p := range []*problem{first.reversedProblem(), second} { // before either is put to a solver
		if _, refuted, err := p.bound(bounds); refuted != nil || err != nil {
			return nil, "", err
		}
	}
	one, err := first.findReduce(ctx, s, budget)
	if err != nil || one.Status != solver.Sat {
		return nil, "", err
	}
	two, err := second.findCopy(ctx, s, budget)
	if err != nil || two.Status != solver.Sat {
		return nil, "", err
	}
	by := two.By
	if one.By != two.By {
		by = one.By + "+" + two.By
	}
	// Both number their items in the same way: by rank and chunk, as places of the
	// data.
	return append(one.Schedule, two.Schedule...), by, nil
}

// oneChunkRanks is the largest system for which one chunk alone is asked for.
const oneChunkRanks = 16

// singleChunkInfeasible returns a refutation if not even one chunk can be summed everywhere
// in a number of steps, with unlimited links. Adding each contribution exactly once can take
// more steps than copying it everywhere. It is nil if a chunk can be summed, or if that is
// not settled.
func (p *problem) singleChunkInfeasible(ctx context.Context, s *solver.Pool, budget solveBudget, steps int) (*ratioBound, error) {
	if p.net.ranks > oneChunkRanks || p.Collective.Name != "allreduce" {
		return nil, nil
	}
	one, err := p.withChunks(1, steps, steps)
	if err != nil {
		return nil, err
	}
	e := one.encodeSum(p.Collective.Name+" on "+p.Topology.Name+": one chunk", nil, false)
	a, err := budget.solve(ctx, s, e.f, "pb")
	if err != nil || a.Status != solver.Unsat {
		return nil, err
	}
	return &ratioBound{by: a.By, seconds: a.Seconds, why: fmt.Sprintf("not one chunk can be summed everywhere in %s, whatever the rounds", plural(steps, "step"))}, nil
}
