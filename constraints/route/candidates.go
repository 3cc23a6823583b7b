package route

import (
	"context"
	"errors"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/topologies"
)

// Synthesised is a routing for a search to compile, tune and compare like one of a
// family. Its parameters are the query that it answers.
type Synthesised struct {
	Program               *lang.Program
	Chunks, Steps, Rounds int // as the literature counts: see ChunksOf
	By                    string
	Proof                 string // what is known about its place on the frontier
}

// Limits on the frontiers that Candidates walks, such that each takes seconds.
const (
	candidateRanks = 16
	candidateSteps = 2 // beyond the fewest steps
	workShare      = 8 // one part in so many of the work is for one query
)

// Candidates returns the routings on the frontier of a collective by rising number
// of steps, so the one of least latency comes first. The chunks of the given
// collective do not matter. Solvers are limited to so much work, which is counted,
// so that the answer is the same on every machine; queries not settled within
// their share are left out. For systems of many ranks, and for collectives that
// are not synthesised, there are none, without an error.
func Candidates(ctx context.Context, s *constraints.Solvers, t *topologies.Topology, c collective.Collective, work time.Duration) ([]Synthesised, error) {
	if c.Ranks > candidateRanks || c.Ranks < 2 {
		return nil, nil
	}
	w := Walk{Work: work, meter: &meter{}}
	points, err := w.points(ctx, s, t, c)
	var found []Synthesised
	for _, pt := range points {
		made, madeErr := w.candidate(ctx, s, t, c, pt)
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

// points returns the first points of the frontier.
func (w Walk) points(ctx context.Context, s *constraints.Solvers, t *topologies.Topology, c collective.Collective) ([]Point, error) {
	asked := c
	if c.Name == "allreduce" {
		// The frontier of an allreduce takes long to walk, those of its two halves
		// do not.
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
	p, err := newProblem(q)
	if err != nil {
		return nil, err
	}
	least, err := p.diameter()
	if err != nil {
		return nil, err
	}
	w.Steps = least + candidateSteps
	points, _, err := Frontier(ctx, s, q, w)
	return points, err
}

// candidate turns a point of the frontier into a program. For an allreduce the
// point is of the allgather, which follows its own mirror image.
func (w Walk) candidate(ctx context.Context, s *constraints.Solvers, t *topologies.Topology, c collective.Collective, pt Point) (*Synthesised, error) {
	chunks, steps, rounds, answer, proof := pt.Chunks, pt.Steps, pt.Rounds, pt.Answer, pt.Proof
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
		if answer, err = w.find(s, q, w.asker(ctx)); err != nil || answer.Status != constraints.Sat {
			return nil, err
		}
		proof = "a reducescatter and an allgather, each of which " + proof
	}
	program, err := Program(q, answer, "synthesised")
	if err != nil {
		return nil, err
	}
	return &Synthesised{program, chunks, steps, rounds, answer.By, proof}, nil
}
