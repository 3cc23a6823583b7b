package synth

import (
	"context"
	"errors"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/topologies"
)

// Synthesised is a synthesised routing for a search to compile and tune like a template's.
// Its parameters are the query that it answers.
type Synthesised struct {
	Program               *lang.Program
	Chunks, Steps, Rounds int    // Chunks as the literature counts them: see ChunksOf
	By                    string // as Answer.By
	Proof                 string // as Point.Proof
}

// Limits on Candidates' frontiers, such that each takes seconds.
const (
	candidateRanks = 16
	candidateSteps = 2 // beyond the fewest steps
	workShare      = 8 // a query may do 1/8 of the work
)

// Candidates returns the routings on the frontier of a collective by rising number of steps,
// so the one of least latency comes first. The chunks of c are ignored. work limits the
// solvers' work, so that the result is the same on every machine; queries not settled within
// their share are left out. For more than 16 ranks, and for collectives that cannot be
// synthesised, it returns none and no error. The error is ctx's or the solvers'.
func Candidates(ctx context.Context, s *solver.Pool, t *topologies.Topology, c collective.Collective, work time.Duration) ([]Synthesised, error) {
	if c.Ranks > candidateRanks || c.Ranks < 2 {
		return nil, nil
	}
	w := FrontierOptions{Work: work}
	budget := w.budget()
	points, err := w.points(ctx, s, budget, t, c)
	var found []Synthesised
	for _, pt := range points {
		made, madeErr := w.candidate(ctx, s, budget, t, c, pt)
		if made != nil {
			found = append(found, *made)
		}
		if err == nil {
			err = madeErr
		}
	}
	var none *QueryError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &none):
		return found, nil
	}
	return found, err
}

// points returns the points of the frontier up to candidateSteps beyond the fewest steps.
func (w FrontierOptions) points(ctx context.Context, s *solver.Pool, budget solveBudget, t *topologies.Topology, c collective.Collective) ([]Point, error) {
	asked := c
	if c.Name == "allreduce" {
		// The frontier of an allreduce takes long to compute, those of its two
		// halves do not.
		var err error
		if asked, err = collective.New(collective.Spec{Name: "allgather", Ranks: c.Ranks, Chunks: 1}); err != nil {
			return nil, err
		}
	}
	spec := asked.Spec
	spec.Chunks = 1
	one, err := collective.New(spec)
	if err != nil {
		return nil, &QueryError{err}
	}
	q := Query{Topology: t, Collective: one, Steps: 1, Rounds: 1}
	p, err := newProblem(ctx, q)
	if err != nil {
		return nil, err
	}
	least, err := p.minSteps()
	if err != nil {
		return nil, err
	}
	w.Steps = least + candidateSteps
	points, _, err := frontier(ctx, s, budget, q, w)
	return points, err
}

// candidate converts a point of the frontier into a program. For an allreduce, the point is
// the allgather's; a reducescatter with the reversed schedule precedes it.
func (w FrontierOptions) candidate(ctx context.Context, s *solver.Pool, budget solveBudget, t *topologies.Topology, c collective.Collective, pt Point) (*Synthesised, error) {
	chunks, steps, rounds, found, proof := pt.Chunks, pt.Steps, pt.Rounds, pt.Answer, pt.Proof
	twice := c.Name == "allreduce"
	if twice {
		chunks, steps, rounds = chunks*c.Ranks, 2*steps, 2*rounds
	}
	each, err := ChunksOf(c.Name, c.Ranks, chunks)
	if err != nil {
		return nil, err
	}
	spec := c.Spec
	spec.Chunks = each
	whole, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	q := Query{Topology: t, Collective: whole, Steps: steps, Rounds: rounds}
	if twice {
		found, err = answer(ctx, s, w.share(budget), func(until context.Context) (*problem, error) { return newProblem(until, q) })
		if err != nil || found.Status != solver.Sat {
			return nil, err
		}
		proof = "a reducescatter and an allgather, each of which " + proof
	}
	program, err := Program(q, found, "synthesised")
	if err != nil {
		return nil, err
	}
	return &Synthesised{program, chunks, steps, rounds, found.By, proof}, nil
}
