package pb

import (
	"errors"
	"fmt"
	"sync"

	"github.com/crillab/gophersat/solver"
)

// Row asks that the weights of the literals that hold add up to Bound. A literal
// is a variable's number from 1, or that number negated; no variable comes
// twice. Weights are positive; nil means that each is 1. Bound is positive.
type Row struct {
	Lits    []int
	Weights []int
	Bound   int
}

// one keeps solves apart: gophersat's learning writes to a package variable.
var one sync.Mutex

// ErrWork is that the work allowed came to an end first.
var ErrWork = errors.New("the work allowed came to an end")

// Solve returns a model, one value for each variable, and whether there is one.
// It may change and keep the rows' slices. The error is a row that is none, or
// that the solver gave up.
func Solve(variables int, rows []Row) (model []bool, sat bool, err error) {
	return solve(variables, rows, nil)
}

// SolveWithin is Solve that ends with ErrWork after so much work, at the same
// place on every machine, and says how much it did. Three units take about a
// microsecond; what is counted are the clauses that the solver learns. Being told
// of them takes it up to as long again as learning them, so this is for who needs
// the same answer everywhere.
func SolveWithin(work int64, variables int, rows []Row) (model []bool, sat bool, done int64, err error) {
	m := &meter{left: work}
	model, sat, err = solve(variables, rows, m)
	return model, sat, work - m.left, err
}

func solve(variables int, rows []Row, m *meter) (model []bool, sat bool, err error) {
	constraints := make([]solver.PBConstr, 0, len(rows))
	last := make([]int, variables+1) // by variable: the row it was last in, from 1
	for i, r := range rows {
		for _, l := range r.Lits {
			v := max(l, -l)
			if v == 0 || v > variables {
				return nil, false, fmt.Errorf("row %d: literal %d: want 1 to %d, or one of these negated", i, l, variables)
			}
			if last[v] == i+1 {
				return nil, false, fmt.Errorf("row %d: variable %d comes twice", i, v)
			}
			last[v] = i + 1
		}
		switch impossible, err := check(r); {
		case err != nil:
			return nil, false, fmt.Errorf("row %d: %w", i, err)
		case impossible:
			return nil, false, nil
		}
		constraints = append(constraints, solver.PBConstr{Lits: r.Lits, Weights: r.Weights, AtLeast: r.Bound})
	}
	one.Lock()
	defer one.Unlock()
	defer func() {
		switch p := recover(); {
		case p == nil:
		case m != nil && m.left < 0:
			model, sat, err = nil, false, ErrWork
		default:
			model, sat, err = nil, false, fmt.Errorf("gophersat panicked: %v", p)
		}
	}()
	model = make([]bool, variables)
	problem := solver.ParsePBConstrs(constraints)
	if problem.Status == solver.Unsat {
		return nil, false, nil
	}
	s := solver.New(problem)
	if m != nil {
		defer m.read(s)()
	}
	switch status := s.Solve(); status {
	case solver.Sat:
		copy(model, s.Model()) // variables no row has are not in it: false
		return model, true, nil
	case solver.Unsat:
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("gophersat returned %v", status)
	}
}

// check tells whether a row is well formed, and whether it can't be met.
func check(r Row) (impossible bool, err error) {
	if r.Bound < 1 {
		return false, fmt.Errorf("bound %d: want at least 1", r.Bound)
	}
	if r.Weights != nil && len(r.Weights) != len(r.Lits) {
		return false, fmt.Errorf("%d weights for %d literals", len(r.Weights), len(r.Lits))
	}
	total := len(r.Lits)
	if r.Weights != nil {
		total = 0
		for _, w := range r.Weights {
			if w < 1 {
				return false, fmt.Errorf("weight %d: want at least 1", w)
			}
			total += w
		}
	}
	return total < r.Bound, nil
}
