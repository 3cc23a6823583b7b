package z3

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Result is the outcome of a check.
type Result int8

// The outcomes. Unknown means that the check was stopped or gave up.
const (
	False   Result = -1
	Unknown Result = 0
	True    Result = 1
)

// Solver is Z3's simple solver. It does without the preprocessing of the default
// solver, which takes longer than it saves on routing problems.
type Solver struct {
	ctx    *Context
	handle uintptr
	limit  uint32 // on a Check's work; 0 means none
}

// ErrWork is Check's error if it met the limit of LimitWork.
var ErrWork = errors.New("the work allowed came to an end")

// NewSolver makes a solver, which is freed with its context.
func (c *Context) NewSolver() *Solver {
	s := &Solver{ctx: c, handle: c.call("mk_simple_solver", lib.Mk_simple_solver)}
	c.call("solver_inc_ref", lib.Solver_inc_ref, s.handle)
	s.set(func(params uintptr) {
		// Otherwise Z3 installs a SIGINT handler, which crashes Go.
		c.call("params_set_bool", lib.Params_set_bool, params, c.symbol("ctrl_c"), 0)
		c.call("params_set_uint", lib.Params_set_uint, params, c.symbol("random_seed"), 0)
	})
	return s
}

func (s *Solver) set(fill func(params uintptr)) {
	c := s.ctx
	params := c.call("mk_params", lib.Mk_params)
	c.call("params_inc_ref", lib.Params_inc_ref, params)
	fill(params)
	c.call("solver_set_params", lib.Solver_set_params, s.handle, params)
	c.call("params_dec_ref", lib.Params_dec_ref, params)
}

func (c *Context) symbol(name string) uintptr {
	return c.call("mk_string_symbol", lib.Mk_string_symbol, uintptr(unsafe.Pointer(dynlib.CString(name))))
}

// LimitWork limits the work of each further Check, in units of libz3's rlimit, which
// is the same on every machine. About three units take a microsecond; 0 means no
// limit. A Check that meets it returns ErrWork.
func (s *Solver) LimitWork(work uint32) {
	s.limit = work
	s.set(func(params uintptr) {
		s.ctx.call("params_set_uint", lib.Params_set_uint, params, s.ctx.symbol("rlimit"), uintptr(work))
	})
}

// Work returns the work done in the solver's context so far, in the same units,
// modulo 2³².
func (s *Solver) Work() uint32 {
	c := s.ctx
	stats := c.call("solver_get_statistics", lib.Solver_get_statistics, s.handle)
	c.call("stats_inc_ref", lib.Stats_inc_ref, stats)
	defer c.call("stats_dec_ref", lib.Stats_dec_ref, stats)
	for i := range uint32(c.call("stats_size", lib.Stats_size, stats)) {
		if dynlib.GoString(c.call("stats_get_key", lib.Stats_get_key, stats, uintptr(i)), 100) == "rlimit count" {
			return uint32(c.call("stats_get_uint_value", lib.Stats_get_uint_value, stats, uintptr(i)))
		}
	}
	return 0
}

// Assert adds a term that must hold.
func (s *Solver) Assert(a AST) {
	if s.ctx.checkTerms("solver_assert", a) {
		s.ctx.call("solver_assert", lib.Solver_assert, s.handle, a.handle)
	}
}

// Push opens a scope of assertions, which Pop closes.
func (s *Solver) Push() { s.ctx.call("solver_push", lib.Solver_push, s.handle) }

// Pop closes the innermost scope and drops its assertions.
func (s *Solver) Pop() { s.ctx.call("solver_pop", lib.Solver_pop, s.handle, 1) }

// interruptInterval is how long to wait before an interrupt is sent again.
const interruptInterval = 10 * time.Millisecond

// Check looks for a model of the assertions in which the assumptions, which must be
// variables or their negations, hold. Unknown comes with ctx's error, ErrWork or
// libz3's reason as an *Error. The context's first error is returned here too.
func (s *Solver) Check(ctx context.Context, assumptions ...AST) (Result, error) {
	c := s.ctx
	if !c.checkTerms("solver_check_assumptions", assumptions...) {
		return Unknown, c.err
	}
	if err := ctx.Err(); err != nil {
		return Unknown, err
	}
	before := uint32(0)
	if s.limit > 0 {
		before = s.Work()
	}
	over, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		select {
		case <-ctx.Done():
		case <-over:
			return
		}
		for {
			dynlib.Call(lib.Interrupt, c.handle)
			select {
			case <-over:
				return
			case <-time.After(interruptInterval):
			}
		}
	}()
	r := Result(int32(c.call("solver_check", lib.Solver_check_assumptions, s.handle,
		uintptr(len(assumptions)), uintptr(firstTerm(assumptions)))))
	close(over)
	<-quiet
	switch {
	case ctx.Err() != nil && r == Unknown:
		c.err = nil // the interrupt's own error
		return Unknown, ctx.Err()
	case c.err != nil:
		return Unknown, c.err
	case r == Unknown && s.limit > 0 && s.Work()-before >= s.limit: // libz3 gives various reasons for this
		return Unknown, ErrWork
	case r == Unknown:
		reason := dynlib.GoString(c.call("solver_get_reason_unknown", lib.Solver_get_reason_unknown, s.handle), 500)
		code := -1
		if reason == "max. memory exceeded" || reason == "memout" {
			code = outOfMemoryCode
		}
		return Unknown, &Error{"solver_check", code, reason}
	}
	return r, nil
}

// Model is a model, which the caller must close.
type Model struct {
	ctx    *Context
	handle uintptr
}

// Model returns the model of the last Check, which must have been True.
func (s *Solver) Model() *Model {
	m := &Model{s.ctx, s.ctx.call("solver_get_model", lib.Solver_get_model, s.handle)}
	if m.handle != 0 {
		s.ctx.call("model_inc_ref", lib.Model_inc_ref, m.handle)
	}
	return m
}

// Close frees the model. It may be called twice.
func (m *Model) Close() {
	if m.handle != 0 {
		m.ctx.call("model_dec_ref", lib.Model_dec_ref, m.handle)
		m.handle = 0
	}
}

// Bool returns the value of a term; false if the model leaves it open.
func (m *Model) Bool(a AST) bool {
	if !m.ctx.checkTerms("model_eval", a) || m.handle == 0 {
		return false
	}
	value := new(uintptr)
	if byte(m.ctx.call("model_eval", lib.Model_eval, m.handle, a.handle, 1, uintptr(unsafe.Pointer(value)))) == 0 {
		return false
	}
	return int32(m.ctx.call("get_bool_value", lib.Get_bool_value, *value)) == 1
}
