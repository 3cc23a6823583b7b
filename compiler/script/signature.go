package script

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
)

// signature describes the parameters of a builtin that is called too often for
// Starlark's general argument unpacking.
type signature struct {
	fn         string
	names      []string
	required   int // how many, from the first, must be given
	positional int // how many, from the first, may be given without names
	hint       string
}

// bind puts the arguments of a call into the order of the signature.
func (g *signature) bind(into []starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) > g.positional {
		msg := fmt.Sprintf("%s: %d arguments without a name: want at most %d", g.fn, len(args), g.positional)
		if g.hint != "" {
			msg += " (" + g.hint + ")"
		}
		return fmt.Errorf("%s", msg)
	}
	copy(into, args)
next:
	for _, kw := range kwargs {
		key := string(kw[0].(starlark.String))
		for i, n := range g.names {
			if n != key {
				continue
			}
			if into[i] != nil {
				return fmt.Errorf("%s: %s is given twice", g.fn, key)
			}
			into[i] = kw[1]
			continue next
		}
		return fmt.Errorf("%s: unknown argument %s%s", g.fn, key, suggest.DidYouMean(key, g.names))
	}
	for i := range g.required {
		if into[i] == nil {
			return fmt.Errorf("%s: %s is missing", g.fn, g.names[i])
		}
	}
	return nil
}

// arguments are those of one call of a builtin in a program, in the order of its
// signature. They are read one after the other, and nothing more after the first error.
type arguments struct {
	s   *session
	fn  string
	v   [6]starlark.Value
	err error
}

// bind binds the arguments of a call in a program.
func (a *arguments) bind(g *signature, th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (err error) {
	if a.s, err = tracing(th, g.fn); err == nil {
		a.fn, err = g.fn, g.bind(a.v[:len(g.names)], args, kwargs)
	}
	return err
}

// fail keeps the first error.
func (a *arguments) fail(err error) {
	if err != nil {
		a.err = fmt.Errorf("%s: %w", a.fn, err)
	}
}

func (a *arguments) rank(i int) (r int) {
	if a.err == nil {
		var err error
		r, err = a.s.machine.asRank(a.v[i])
		a.fail(err)
	}
	return r
}

func (a *arguments) buffer(i int) (b collective.Buffer) {
	if a.err == nil {
		var err error
		b, err = a.s.buffer(a.v[i])
		a.fail(err)
	}
	return b
}

// index reads an index, and returns the number of chunks it stands for.
func (a *arguments) index(i int) (at, unit int) {
	if a.err == nil {
		var err error
		at, unit, err = a.s.index(a.v[i])
		a.fail(err)
	}
	return at, unit
}

func (a *arguments) channel(i int) (ch int) {
	if a.err == nil {
		var err error
		ch, err = channel(a.v[i])
		a.fail(err)
	}
	return ch
}

func (a *arguments) number(name string, i, otherwise int) (n int) {
	if a.err == nil {
		var err error
		n, err = number(name, a.v[i], otherwise)
		a.fail(err)
	}
	return n
}

// integers reads a list of numbers; it is nil if the argument is not a list. n is the
// length of the call's lists, or -1 before the first.
func (a *arguments) integers(name string, i int, read func(starlark.Value) (int, error), n *int) (all []int) {
	if a.err == nil {
		var err error
		all, err = integers(name, a.v[i], read, n)
		a.fail(err)
	}
	return all
}

func number(name string, v starlark.Value, otherwise int) (int, error) {
	if v == nil || v == starlark.None {
		return otherwise, nil
	}
	n, err := starlark.AsInt32(v)
	if err != nil {
		return 0, fmt.Errorf("%s is %s", name, wantNumber(v, "a number"))
	}
	return n, nil
}
