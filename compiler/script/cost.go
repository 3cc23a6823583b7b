package script

import (
	"fmt"
	"math/big"

	"go.starlark.net/starlark"
)

// Cost is the result of a family's def cost(topo, p): closed forms from the
// literature, which tests compare with the compiled program.
type Cost struct {
	Steps int      // largest number of messages that a chunk takes one after another
	Wire  *big.Rat // bytes that all ranks together put on links, as a multiple of the size
}

// Cost evaluates the template's def cost(topo, p); ok is false if it has none. An error
// is one of Bind, or an *Error of the template.
func (t *Template) Cost(m Machine, q Request, given map[string]any) (cost Cost, ok bool, err error) {
	c, err := t.prepare(m, q, given)
	if err != nil {
		return Cost{}, false, err
	}
	r, err := t.code.evaluate("cost", c)
	if err != nil || !r.Yes {
		return Cost{}, false, err
	}
	wire, ok := new(big.Rat).SetString(r.Wire)
	if !ok || r.N < 0 || wire.Sign() < 0 {
		return Cost{}, false, garbled(t.File)
	}
	return Cost{r.N, wire}, true, nil
}

func (p *program) cost(c *call) (r result, err error) {
	err = p.call("cost", c, func(v starlark.Value) error {
		pair, isPair := v.(starlark.Tuple)
		if !isPair || len(pair) != 2 {
			return fmt.Errorf("cost returned %s: want (steps, wire)", kindOf(v))
		}
		steps, err := starlark.AsInt32(pair[0])
		if err != nil || steps < 0 {
			return fmt.Errorf("cost returned %s steps: want a number from 0", kindOf(pair[0]))
		}
		wire, err := asRatio(pair[1])
		if err != nil {
			return err
		}
		r = result{Yes: true, N: steps, Wire: wire.RatString()}
		return nil
	})
	return r, err
}

// asRatio reads a multiple of the size: an integer, or a pair (numerator,
// denominator).
func asRatio(v starlark.Value) (*big.Rat, error) {
	over, under := v, starlark.Value(starlark.MakeInt(1))
	if pair, ok := v.(starlark.Tuple); ok && len(pair) == 2 {
		over, under = pair[0], pair[1]
	}
	a, ok1 := over.(starlark.Int)
	b, ok2 := under.(starlark.Int)
	if !ok1 || !ok2 || a.Sign() < 0 || b.Sign() <= 0 {
		return nil, fmt.Errorf("cost returned %s on the wire: want a number of times the size, or (a, b) for a / b", kindOf(v))
	}
	return new(big.Rat).SetFrac(a.BigInt(), b.BigInt()), nil
}
