package script

import (
	"fmt"

	"go.starlark.net/starlark"

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

// number reads an optional number.
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
