package route

import (
	"context"
	"errors"
	"time"

	"github.com/colltune/colltune/constraints"
)

// stated is a problem as a formula, and how a schedule is read off its models.
type stated struct {
	formula *constraints.Formula
	read    func(model []bool) Schedule
	suits   string // the solver that is quicker at such formulas, as measured
}

// state picks the encoding: counted where every chunk has one place to go,
// direct where sums are wanted in several, else named. Of the splits of rounds
// it leaves out what bounds have excluded; nil is none. Where breaking is set it
// leaves out sums' routings that differ from others in names only; solvers are
// no faster at the other encodings for that.
func (p *problem) state(open [][]int, breaking bool) stated {
	switch {
	case p.everySum():
		e := p.encodeDirect(p.name(), open)
		if breaking {
			e.breakSymmetry()
		}
		return stated{e.f, func(model []bool) Schedule { return p.thin(e.schedule(model)) }, "pb"}
	case p.reduces:
		dual := p.dual().state(open, breaking)
		return stated{dual.formula, func(model []bool) Schedule { return dual.read(model).reversed() }, dual.suits}
	case p.counts():
		e := p.encodeCounted(p.name(), open, false)
		return stated{e.f, e.schedule, "z3"}
	}
	e := p.encodeNamed(p.name(), open)
	return stated{e.f, e.schedule, "pb"}
}

// solve has the solvers answer what bounds leave open. Chunks that are counted
// are first asked to take shortest ways only: a smaller question, and where links
// are all taken the same one.
func (p *problem) solve(s *constraints.Solvers, ask asker, open [][]int) (Answer, error) {
	if ask.kept != nil {
		a, err := ask.kept(p, open)
		if err != nil || a.Status != constraints.Timeout {
			return a, err
		}
	}
	if !p.reduces && p.counts() {
		e := p.encodeCounted(p.name()+", shortest ways", open, true)
		got, err := ask.within(narrowTime).put(s, stated{e.f, e.schedule, "z3"})
		switch {
		case err == nil && got.Status == constraints.Sat:
			return Answer{Status: got.Status, By: got.By, Schedule: e.schedule(got.Model)}, nil
		case err != nil && (ask.ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)):
			return Answer{}, err
		}
	}
	st := p.state(open, true)
	got, err := ask.put(s, st)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: got.Status, By: got.By, Detail: got.Detail}
	if got.Status == constraints.Sat {
		a.Schedule = st.read(got.Model)
	}
	return a, nil
}

// narrowTime is how long the smaller question may take.
const narrowTime = 3 * time.Second

// asker is how solvers are asked: until when, and whether all at once or in
// order.
type asker struct {
	ctx     context.Context
	inOrder bool
	limit   time.Duration // 0: none
	atLeast bool          // R/C is known to be no less than the bound's
	hopeful bool          // one chunk can be summed in as many steps
	kept    keeper
}

// keeper asks a formula that a solver keeps, before any other; Timeout is that it
// did not settle the query. Nil: there is none.
type keeper func(p *problem, open [][]int) (Answer, error)

func (a asker) within(limit time.Duration) asker {
	a.limit = limit
	return a
}

func (a asker) put(s *constraints.Solvers, st stated) (constraints.Answer, error) {
	ctx := a.ctx
	if a.limit > 0 {
		short, cancel := context.WithTimeout(ctx, a.limit)
		defer cancel()
		ctx = short
	}
	if a.inOrder {
		return s.SolveInOrder(ctx, st.formula, st.suits)
	}
	return s.Solve(ctx, st.formula)
}

// State is the formula of a query: satisfiable exactly where there is a
// routing, for any solver to check. Bounds and symmetries play no part in it.
func State(q Query) (*constraints.Formula, error) {
	p, err := newProblem(q)
	if err != nil {
		return nil, err
	}
	f := p.state(nil, false).formula
	return f, f.Err()
}
