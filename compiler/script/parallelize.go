package script

import (
	"fmt"

	"go.starlark.net/starlark"
)

// scope is the result of parallelize(N): an iterable of one element whose loop
// body is the parallelized fragment (GC3 section 5.1).
type scope struct {
	s      *session
	factor int
}

func (p *scope) String() string        { return fmt.Sprintf("parallelize(%d)", p.factor) }
func (p *scope) Type() string          { return "parallelize" }
func (p *scope) Freeze()               {}
func (p *scope) Truth() starlark.Bool  { return true }
func (p *scope) Hash() (uint32, error) { return 0, fmt.Errorf("parallelize cannot be a key") }

// Iterate enters the scope; Done leaves it, however the loop ends. A scope that
// can't be entered, because it is nested too deeply, is reported at the next
// operation, as Iterate can't return an error.
func (p *scope) Iterate() starlark.Iterator {
	err := p.s.trace.Enter(p.factor)
	if err != nil && p.s.err == nil {
		p.s.err = err
	}
	return &scopeLoop{scope: p, entered: err == nil}
}

type scopeLoop struct {
	*scope
	entered, over bool
}

func (l *scopeLoop) Next(v *starlark.Value) bool {
	if l.over {
		return false
	}
	l.over = true
	*v = starlark.MakeInt(l.factor)
	return true
}

func (l *scopeLoop) Done() {
	if l.entered {
		l.s.trace.Leave()
	}
}

// parallelizeBuiltin implements parallelize(N), for a loop, or parallelize(N,
// body), which calls body in the scope and returns what it returns.
func parallelizeBuiltin(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := tracing(th, "parallelize")
	if err != nil {
		return nil, err
	}
	var factor int
	var body starlark.Callable
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "n", &factor, "body?", &body); err != nil {
		return nil, err
	}
	s.trace.At(here(th))
	if body == nil {
		if err := s.trace.CanEnter(factor); err != nil {
			return nil, err
		}
		return &scope{s, factor}, nil
	}
	if err := s.trace.Enter(factor); err != nil {
		return nil, err
	}
	defer s.trace.Leave()
	return starlark.Call(th, body, nil, nil)
}
