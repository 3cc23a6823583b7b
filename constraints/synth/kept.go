package synth

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
)

// kept is the formula of a frontier search for one number of steps, kept by a solver. It
// states the largest query that may come up; the assumptions of a query say which
// chunks are wanted, and how many rounds there are in total and at most in each
// step:
//
//	(3,2,8)   wanted(0) wanted(1) wanted(2) ¬wanted(3) …   rounds ≤ 8   rounds(0) ≤ 6 …
//	(4,2,11)  wanted(0) wanted(1) wanted(2)  wanted(3) …   rounds ≤ 11  …
//
// A refutation from it is only a claim until a solver that has kept nothing
// confirms it: see claims.
type kept struct {
	p *problem // the largest query, or its dual
	formula
	wanted []constraints.Lit // by chunk of a class of interchangeable ones
	total  constraints.Int   // rounds of all steps together
	rounds []constraints.Int // of each
	solver keptSolver
}

// formula is a formula that can decode its models into schedules.
type formula struct {
	f    *constraints.Formula
	read func(model []bool) Schedule
}

// keptSolver is the part of constraints.Kept that is used here.
type keptSolver interface {
	Ask(ctx context.Context, limit time.Duration, assume ...constraints.Lit) (constraints.Answer, error)
	Deny(what, by string)
	Close()
}

// keeping says for which encodings walks keep a formula, as measured: see
// docs/measurements/synthesis.md.
var keeping = []struct {
	encoding string
	keep     bool
	is       func(*problem) bool
}{
	{"direct, of sums wanted in several places", false, (*problem).sumsEverywhere},
	{"counted, of chunks with one destination", true, func(p *problem) bool { return !p.reduces && p.singleDestination() }},
	{"named, of chunks with several", true, func(*problem) bool { return true }},
}

// keeps reports whether walks of a problem keep formulas.
func (p *problem) keeps() bool {
	for _, row := range keeping {
		if row.is(p) {
			return row.keep
		}
	}
	return false
}

// keep states the formula for all queries of up to so many chunks, as the
// literature counts them, and rounds. It returns nil if no solver keeps formulas.
func (p *problem) keep(ctx context.Context, s *constraints.Solvers, chunks, steps, rounds int) (*kept, error) {
	spec := p.Collective.Spec
	spec.Chunks = chunks / p.perChunk()
	c, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	on := *p
	on.ctx = ctx
	largest, err := on.withCollective(c, steps, rounds)
	if err != nil {
		return nil, err
	}
	if largest.reduces {
		largest = largest.reversedProblem()
	}
	k := largest.stateKept(spec.Chunks)
	if k == nil {
		return nil, nil
	}
	solver, err := s.Keep(k.f)
	if err != nil || solver == nil {
		return nil, err
	}
	k.solver = solver
	return k, nil
}

// stateKept states a problem of so many of the collective's chunks, or returns nil
// if classes of interchangeable chunks are not of that size.
func (p *problem) stateKept(chunks int) *kept {
	k := &kept{p: p}
	k.f = p.formula(p.name() + " at most")
	k.wanted = make([]constraints.Lit, chunks)
	for i := range k.wanted {
		k.wanted[i] = k.f.Bool(fmt.Sprintf("wanted(%d)", i))
	}
	which := make([]constraints.Lit, len(p.items))
	for _, class := range p.classes {
		if len(class)%chunks != 0 {
			return nil
		}
		for i, x := range class {
			which[x] = k.wanted[i*chunks/len(class)]
		}
	}
	wanted := func(x int) constraints.Lit { return which[x] }
	k.total = k.f.Int("rounds", p.Steps, p.Rounds)
	sum := k.total.Terms(-1)
	for t := range p.Steps {
		r := k.f.Int(fmt.Sprintf("rounds(%d)", t), 1, p.Rounds-p.Steps+1)
		k.rounds = append(k.rounds, r)
		sum = append(sum, r.Terms(1)...)
	}
	k.f.SumAtMost(0, sum...)
	if p.singleDestination() {
		e := &flowEncoding{p: p, f: k.f, rounds: k.rounds, wanted: wanted}
		e.encode()
		k.read = e.schedule
		return k
	}
	e := &chunkEncoding{p: p, f: k.f, rounds: k.rounds, wanted: wanted}
	e.encode()
	k.read = e.schedule
	return k
}

// fits reports whether the formula covers a query.
func (k *kept) fits(q *problem) bool {
	return q.Steps == k.p.Steps && q.Rounds <= k.p.Rounds && q.Collective.Chunks <= len(k.wanted)
}

// assumptions expresses a query, and which splits of its rounds are open, in the
// formula's variables.
func (k *kept) assumptions(q *problem, open [][]int) []constraints.Lit {
	var lits []constraints.Lit
	for i, l := range k.wanted {
		if i >= q.Collective.Chunks {
			l = l.Not()
		}
		lits = append(lits, l)
	}
	lits = append(lits, k.total.AtMost(q.Rounds))
	for t, r := range k.rounds {
		hi := q.Rounds - q.Steps + 1
		if len(open) > 0 {
			hi = 0
			for _, split := range open {
				hi = max(hi, split[t])
			}
		}
		lits = append(lits, r.AtMost(hi))
	}
	return lits
}

// ask asks a query. Unsat is a claim.
func (k *kept) ask(ctx context.Context, limit time.Duration, q *problem, open [][]int) (Answer, error) {
	got, err := k.solver.Ask(ctx, limit, k.assumptions(q, open)...)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: got.Status, By: got.By, Detail: got.Detail, claimed: got.Status == constraints.Unsat}
	if a.Status == constraints.Sat {
		a.Schedule = q.prune(k.translate(k.read(got.Model), q))
	}
	return a, nil
}

// translate renumbers the chunks of a schedule for the largest query as those of
// q.
func (k *kept) translate(s Schedule, q *problem) Schedule {
	number := make([]int, len(k.p.items)) // by item of the largest query
	for i, class := range k.p.classes {
		for j, x := range class {
			number[x] = -1
			if j < len(q.classes[i]) {
				number[x] = q.classes[i][j]
			}
		}
	}
	out := make(Schedule, len(s))
	for i, step := range s {
		out[i].Rounds = step.Rounds
		for _, m := range step.Sends {
			if m.Item = number[m.Item]; m.Item >= 0 {
				out[i].Sends = append(out[i].Sends, m)
			}
		}
	}
	return out
}
