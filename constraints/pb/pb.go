package pb

import (
	"errors"
	"fmt"
	"sync"

	"github.com/crillab/gophersat/solver"
)

// Row requires that the weights of the literals that hold add up to Bound or more.
// A literal is a variable's number, from 1, or that number negated; a variable
// occurs at most once. Weights are positive; nil means that all are 1. Bound is
// positive.
type Row struct {
	Lits    []int
	Weights []int
	Bound   int
}

// solverMu serialises solves, because gophersat writes to package variables.
var solverMu sync.Mutex

// ErrWork means that the limit on work was met first.
var ErrWork = errors.New("the work allowed came to an end")

// Solve returns a model, with one value for each variable, or sat = false if there
// is none. It may change and keep the rows' slices. The error names a malformed row,
// or says that the solver gave up or panicked.
func Solve(variables int, rows []Row) (model []bool, sat bool, err error) {
	return solve(variables, rows, nil)
}

// SolveWithin is Solve with a limit on work, in units of about a third of a
// microsecond: see meter. It returns ErrWork if it meets the limit, at the same point
// on every machine, and the work done. Counting can double the solver's time.
func SolveWithin(work int64, variables int, rows []Row) (model []bool, sat bool, done int64, err error) {
	m := &meter{left: work}
	model, sat, err = solve(variables, rows, m)
	return model, sat, work - m.left, err
}

func solve(variables int, rows []Row, m *meter) (model []bool, sat bool, err error) {
	constraints := make([]solver.PBConstr, 0, len(rows))
	last := make([]int, variables+1) // by variable: 1 + the last row it was in
	for i, r := range rows {
		for _, l := range r.Lits {
			v := max(l, -l)
			if v == 0 || v > variables {
				return nil, false, fmt.Errorf("row %d: literal %d: want 1 to %d, or one of these negated", i, l, variables)
			}
			if last[v] == i+1 {
				return nil, false, fmt.Errorf("row %d: variable %d occurs twice", i, v)
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
	solverMu.Lock()
	defer solverMu.Unlock()
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
		defer m.attach(s)()
	}
	switch status := s.Solve(); status {
	case solver.Sat:
		copy(model, s.Model()) // it lacks variables that are in no row; these stay false
		return model, true, nil
	case solver.Unsat:
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("gophersat returned %v", status)
	}
}

// check returns an error for a malformed row, and reports whether a row is
// impossible because its weights do not add up to the bound.
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
