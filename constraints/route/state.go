package route

import (
	"github.com/colltune/colltune/constraints"
)

// stated is a problem as a formula, with a decoder of its models.
type stated struct {
	formula *constraints.Formula
	read    func(model []bool) Schedule
	suits   string // the solver that is faster at such formulas, as measured
	only    bool   // by so much that no other is asked as well
}

// state picks the encoding: counted if every chunk has a single destination,
// direct if sums are wanted in several places, otherwise named. It admits only the
// splits of rounds in open; nil admits all. With breaking, it excludes routings of
// sums that differ from others only in names; that does not make solvers faster at
// the other encodings.
func (p *problem) state(open [][]int, breaking bool) stated {
	switch {
	case p.everySum():
		e := p.encodeDirect(p.name(), open)
		if breaking {
			e.breakSymmetry()
		}
		return stated{formula: e.f, read: func(model []bool) Schedule { return p.thin(e.schedule(model)) }, suits: "pb"}
	case p.reduces:
		dual := p.dual().state(open, breaking)
		return stated{formula: dual.formula, read: func(model []bool) Schedule { return dual.read(model).reversed() }, suits: dual.suits}
	case p.counts():
		e := p.encodeCounted(p.name(), open, false)
		return stated{formula: e.f, read: e.schedule, suits: "z3"}
	}
	e := p.encodeNamed(p.name(), open)
	return stated{formula: e.f, read: e.schedule, suits: "pb"}
}

// solve has the solvers answer what bounds leave open. For chunks that are counted
// it first asks only for shortest paths: a smaller question, which has the same
// answer if all links are used.
func (p *problem) solve(s *constraints.Solvers, ask asker, open [][]int) (Answer, error) {
	if ask.kept != nil {
		a, err := ask.kept(p, open)
		if err != nil || a.Status != constraints.Timeout {
			return a, err
		}
	}
	if !p.reduces && p.counts() {
		e := p.encodeCounted(p.name()+", shortest ways", open, true)
		got, err := ask.share(1, 8).put(s, stated{formula: e.f, suits: "z3"})
		if err != nil {
			return Answer{}, err
		}
		if got.Status == constraints.Sat {
			return Answer{Status: got.Status, By: got.By, Schedule: e.schedule(got.Model)}, nil
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

// State is the formula of a query, which is satisfiable exactly if there is a
// routing, for any solver to check. It makes no use of bounds and symmetries.
func State(q Query) (*constraints.Formula, error) {
	p, err := newProblem(q)
	if err != nil {
		return nil, err
	}
	f := p.state(nil, false).formula
	return f, f.Err()
}
