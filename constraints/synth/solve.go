package synth

import (
	"context"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// encoding is a problem as a formula, with a decoder of its models.
type encoding struct {
	formula   *constraints.Formula
	decode    func(model []bool) Schedule
	preferred string // the solver that is faster at such formulas, as measured
}

// encode chooses the encoding: flowEncoding if every chunk has a single destination,
// sumEncoding if sums are wanted in several places, otherwise chunkEncoding. It admits only
// rounds of the splits in open; nil admits all. With breaking, it breaks the symmetries of
// sums; for the other encodings that does not make solvers faster.
func (p *problem) encode(open [][]int, breaking bool) encoding {
	switch {
	case p.sumsEverywhere():
		e := p.encodeSum(p.name(), open, true)
		if breaking {
			e.breakSymmetry()
		}
		return encoding{formula: e.f, decode: func(model []bool) Schedule { return p.thin(e.schedule(model)) }, preferred: "pb"}
	case p.reduces:
		dual := p.reversedProblem().encode(open, breaking)
		return encoding{formula: dual.formula, decode: func(model []bool) Schedule { return dual.decode(model).reversed() }, preferred: dual.preferred}
	case p.singleDestination():
		e := p.encodeFlow(p.name(), open, false)
		return encoding{formula: e.f, decode: e.schedule, preferred: "z3"}
	}
	e := p.encodeChunks(p.name(), open)
	return encoding{formula: e.f, decode: e.schedule, preferred: "pb"}
}

// solve has the solvers answer a query that bounds leave open. For flowEncoding it first
// tries shortest paths only, which is a smaller query.
func (p *problem) solve(ctx context.Context, s *solver.Pool, budget solveBudget, open [][]int) (Answer, error) {
	if !p.reduces && p.singleDestination() {
		e := p.encodeFlow(p.name()+", shortest paths", open, true)
		got, err := budget.share(1, 8).solve(ctx, s, e.f, "z3")
		if err != nil {
			return Answer{}, err
		}
		if got.Status == solver.Sat {
			return Answer{Status: got.Status, By: got.By, Schedule: e.schedule(got.Model)}, nil
		}
	}
	e := p.encode(open, true)
	got, err := budget.solve(ctx, s, e.formula, e.preferred)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: got.Status, By: got.By, Detail: got.Detail}
	if got.Status == solver.Sat {
		a.Schedule = e.decode(got.Model)
	}
	return a, nil
}

// Encode returns the formula of a query, which is satisfiable exactly if there is a routing.
// It does not use bounds, and breaks no symmetries other than the order of interchangeable
// chunks. The error is a *QueryError or the formula's.
func Encode(q Query) (*constraints.Formula, error) {
	p, err := newProblem(context.Background(), q)
	if err != nil {
		return nil, err
	}
	f := p.encode(nil, false).formula
	return f, f.Err()
}
