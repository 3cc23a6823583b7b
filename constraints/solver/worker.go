package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/pb"
	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/lists"
)

// This file is the worker's side: a child process that answers questions until its
// input ends.

func init() {
	child.Register(workerName("z3"), serve(openZ3))
	child.Register(workerName("pb"), serve(openPB))
}

// workerName returns the name under which a solver's child process is registered.
func workerName(solver string) string { return "solver-" + solver }

// engine is a solver that holds one formula.
type engine interface {
	// solve looks for a model of the formula in which the fixed literals and the
	// clause (nil: none) hold as well.
	solve(ctx context.Context, clause []constraints.Lit) (model []bool, sat bool, err error)
	fix(constraints.Lit) // for all further calls of solve
	// worked returns the work done so far, if it is limited.
	worked() time.Duration
	close()
}

// opener is a solver's version and its constructor of engines.
type opener struct {
	version string
	engine  func(*problem) (engine, error)
}

func serve(open func(memory int64) (opener, error)) func(*child.Conn) error {
	return func(c *child.Conn) error {
		o, err := open(c.Memory)
		if err := c.Send(appendHello(o.version, err)); err != nil || o.engine == nil {
			return err
		}
		for {
			frame, err := c.Receive()
			if err != nil {
				return err
			}
			p, err := readQuestion(frame)
			if err != nil {
				return fmt.Errorf("question: %w", err)
			}
			if err := c.Send(appendAnswer(nil, o.answer(&p))); err != nil {
				return err
			}
		}
	}
}

func (o opener) answer(p *problem) reply {
	ctx, cancel := context.WithTimeout(context.Background(), p.limit)
	defer cancel()
	a := reply{id: p.id}
	e, err := o.engine(p)
	if err == nil {
		var sat bool
		a.model, sat, err = preferred(ctx, e, p.prefer)
		a.work = e.worked()
		e.close()
		if err == nil && !sat {
			a.says, a.model = saysUnsat, nil
		}
	}
	var z *z3.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		a.says, a.model = saysTimeout, nil
	case errors.Is(err, z3.ErrWork), errors.Is(err, pb.ErrWork):
		a.says, a.model = saysWork, nil
	case errors.As(err, &z) && z.OutOfMemory():
		a.says, a.model, a.detail = saysMemory, nil, err.Error()
	case err != nil:
		a.says, a.model, a.detail = saysError, nil, err.Error()
	}
	return a
}

// preferred finds a model and improves it, group by group of the preferences. Each
// query asks for a model in which an earlier literal of the group holds than in the
// current one. Most groups take one query, which is unsat.
func preferred(ctx context.Context, e engine, prefer [][]constraints.Lit) ([]bool, bool, error) {
	model, sat, err := e.solve(ctx, nil)
	if err != nil || !sat {
		return nil, false, err
	}
	for _, group := range prefer {
		first := firstHeld(model, group)
		for first > 0 {
			better, sat, err := e.solve(ctx, distinct(group[:first]))
			if err != nil {
				return nil, false, err
			}
			if !sat {
				break
			}
			now := firstHeld(better, group)
			if now >= first {
				return nil, false, errors.New("a model without the clause that was asked for")
			}
			model, first = better, now
		}
		for _, l := range group[:first] {
			e.fix(l.Not())
		}
		if first < len(group) {
			e.fix(group[first])
		}
	}
	return model, true, nil
}

// distinct drops repeated literals. Opposite literals cannot occur: lists end before
// the first literal that holds, and of two opposite literals one holds.
func distinct(lits []constraints.Lit) []constraints.Lit {
	var list []constraints.Lit
	seen := map[constraints.Lit]bool{}
	for _, l := range lits {
		if !seen[l] {
			seen[l] = true
			list = append(list, l)
		}
	}
	return list
}

// firstHeld returns the index of the first literal of a group that holds, or the
// group's length.
func firstHeld(model []bool, group []constraints.Lit) int {
	for i, l := range group {
		if l.Holds(model) {
			return i
		}
	}
	return len(group)
}

// z3Engine holds a formula in a libz3 context of its own, so that earlier formulas
// do not influence its model.
type z3Engine struct {
	ctx    *z3.Context
	solver *z3.Solver
	vars   []z3.AST // by variable; zero if no row contains it
	work   workMeter
}

func openZ3(memory int64) (opener, error) {
	version, err := z3.Version()
	if err != nil {
		return opener{}, err
	}
	if memory > 0 { // libz3 reports that its own cap was met; the system's cap kills the process
		if err := z3.SetMemory(int((memory - memory/8) >> 20)); err != nil {
			return opener{}, err
		}
	}
	return opener{version, newZ3Engine}, nil
}

func newZ3Engine(p *problem) (engine, error) {
	ctx, err := z3.NewContext()
	if err != nil {
		return nil, err
	}
	e := &z3Engine{ctx: ctx, solver: ctx.NewSolver(), vars: make([]z3.AST, p.variables), work: workMeter{limit: p.work}}
	var terms []z3.AST
	var weights []int32
	for _, r := range p.rows {
		terms = e.terms(terms[:0], r.Lits)
		switch {
		case r.Weights != nil:
			weights = weights[:0]
			for _, w := range r.Weights {
				weights = append(weights, int32(w))
			}
			e.solver.Assert(ctx.SumAtLeast(terms, weights, int32(r.Bound)))
		case r.Bound == 1:
			e.solver.Assert(ctx.Or(terms...))
		case r.Bound == len(terms):
			for _, t := range terms {
				e.solver.Assert(t)
			}
		default:
			e.solver.Assert(ctx.AtLeast(terms, r.Bound))
		}
	}
	if err := ctx.Err(); err != nil {
		ctx.Close()
		return nil, err
	}
	return e, nil
}

func (e *z3Engine) term(l constraints.Lit) z3.AST {
	v := &e.vars[l.Variable()]
	if *v == (z3.AST{}) {
		*v = e.ctx.Bool(l.Variable())
	}
	if l < 0 {
		return e.ctx.Not(*v)
	}
	return *v
}

func (e *z3Engine) terms(terms []z3.AST, lits []constraints.Lit) []z3.AST {
	for _, l := range lits {
		terms = append(terms, e.term(l))
	}
	return terms
}

func (e *z3Engine) solve(ctx context.Context, clause []constraints.Lit) ([]bool, bool, error) {
	if clause != nil {
		e.solver.Push()
		defer e.solver.Pop()
		e.solver.Assert(e.ctx.Or(e.terms(nil, clause)...))
	}
	r, err := e.check(ctx)
	if err != nil || r != z3.True {
		return nil, false, err
	}
	m := e.solver.Model()
	defer m.Close()
	model := make([]bool, len(e.vars))
	for i, v := range e.vars {
		if v != (z3.AST{}) {
			model[i] = m.Bool(v)
		}
	}
	return model, true, e.ctx.Err()
}

// check runs the solver within the work that is left.
func (e *z3Engine) check(ctx context.Context) (z3.Result, error) {
	if e.work.limit == 0 {
		return e.solver.Check(ctx)
	}
	left := e.work.left()
	if left <= 0 {
		return z3.Unknown, z3.ErrWork
	}
	e.solver.LimitWork(uint32(min(left, math.MaxUint32)))
	before := e.solver.Work()
	r, err := e.solver.Check(ctx)
	e.work.add(int64(e.solver.Work() - before))
	return r, err
}

func (e *z3Engine) fix(l constraints.Lit) { e.solver.Assert(e.term(l)) }
func (e *z3Engine) worked() time.Duration { return e.work.done }
func (e *z3Engine) close()                { e.ctx.Close() }

// pbEngine starts from scratch at each solve, because gophersat 1.4.0 is unsound
// under assumptions: of 3,471 such queries it answered 750 unsatisfiable ones with
// a model.
type pbEngine struct {
	problem *problem
	fixed   []constraints.Lit
	work    workMeter
}

func openPB(int64) (opener, error) {
	return opener{pbVersion(), func(p *problem) (engine, error) { return &pbEngine{problem: p, work: workMeter{limit: p.work}}, nil }}, nil
}

// pbVersion returns the version of the embedded solver, as recorded in the binary.
func pbVersion() string {
	const module = "github.com/crillab/gophersat"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return "gophersat " + strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "gophersat"
}

func (e *pbEngine) solve(_ context.Context, clause []constraints.Lit) ([]bool, bool, error) {
	rows := make([]pb.Row, 0, len(e.problem.rows)+len(e.fixed)+1)
	for _, l := range e.fixed {
		rows = append(rows, pb.Row{Lits: []int{int(l)}, Bound: 1})
	}
	if clause != nil {
		rows = append(rows, pb.Row{Lits: ints(clause), Bound: 1})
	}
	for _, r := range e.problem.rows {
		row := pb.Row{Lits: ints(r.Lits), Bound: r.Bound}
		if r.Weights != nil {
			row.Weights = append([]int(nil), r.Weights...)
		}
		rows = append(rows, row)
	}
	if e.work.limit == 0 {
		return pb.Solve(e.problem.variables, rows)
	}
	if e.work.left() <= 0 {
		return nil, false, pb.ErrWork
	}
	model, sat, done, err := pb.SolveWithin(e.work.left(), e.problem.variables, rows)
	e.work.add(done)
	return model, sat, err
}

func ints(lits []constraints.Lit) []int {
	return lists.Map(lits, func(l constraints.Lit) int { return int(l) })
}

func (e *pbEngine) fix(l constraints.Lit) { e.fixed = append(e.fixed, l) }
func (e *pbEngine) worked() time.Duration { return e.work.done }
func (e *pbEngine) close()                {}
