package script

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/lang"
)

// Operations returns the program's number of operations by the template's def
// operations(topo, p); ok is false if it has none. It needs no trace, which may
// take gigabytes. Errors are as those of Cost.
func (t *Template) Operations(m Machine, q Request, given map[string]any) (n int, ok bool, err error) {
	c, err := t.prepare(m, q, given)
	if err != nil {
		return 0, false, err
	}
	r, err := t.code.evaluate("operations", c)
	return max(r.N, 0), r.Yes, err
}

func (p *program) operations(c *call) (r result, err error) {
	err = p.call("operations", c, func(v starlark.Value) error {
		if v == starlark.None { // not known for these parameters
			return nil
		}
		i, isInt := v.(starlark.Int)
		count, small := int64(0), false
		if isInt {
			count, small = i.Int64()
		}
		if !small || count < 0 || count > 1<<53 {
			return fmt.Errorf("operations returned %s: want a whole number from 0, or None", kindOf(v))
		}
		r = result{Yes: true, N: int(count)}
		return nil
	})
	return r, err
}

// checkOperations returns an error that is Large if the template's def
// operations returns more than most, and one that is not if it returns more than
// lang.MaxOps.
func (p *program) checkOperations(c *call, fn *starlark.Function, most int) error {
	if most <= 0 || most > lang.MaxOps {
		most = lang.MaxOps
	}
	r, err := p.operations(c)
	if err != nil || !r.Yes || r.N <= most {
		return err
	}
	if r.N > lang.MaxOps { // under any limit
		most = lang.MaxOps
	}
	return asError(p.file, &lang.Error{
		Pos: position(fn.Position()), Large: most < lang.MaxOps, Ops: r.N,
		Msg: fmt.Sprintf("the program has %d operations: want at most %d", r.N, most),
	})
}
