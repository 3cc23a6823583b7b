package script

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// A template may define a custom collective, before it declares the family that
// implements it:
//
//	collective(
//	    name = "shift-two",
//	    input = 1,                                       # units, of every rank
//	    output = lambda topo, rank: 1,                   # or of each
//	    want = lambda topo, rank, index: ((rank - 2) % topo.ranks, index),
//	)
//
// want returns the required value of a unit of output: (rank, index) for that
// unit of input, a list of such pairs for their reduction, None for no
// requirement. A template's chunks(topo, p) divides units into chunks.

// customCollective holds the arguments of collective(…).
type customCollective struct {
	name                string
	input, output, want starlark.Value
	same                bool
	pos                 lang.Pos
}

func collectiveBuiltin(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	d := sessionOf(th).declare
	if d == nil {
		return nil, fmt.Errorf("collective: only the template's own file, at its top level, defines collectives")
	}
	c := &customCollective{pos: here(th)}
	if len(args) > 0 {
		return nil, fmt.Errorf("collective: give its parts by name: name, input, output, want")
	}
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "name", &c.name, "input", &c.input, "output", &c.output, "want", &c.want, "in_place?", &c.same); err != nil {
		return nil, err
	}
	if err := tooLong("collective: name", c.name, maxName); err != nil {
		return nil, err
	}
	switch {
	case !familyName().MatchString(c.name) || c.name[0] < 'a':
		return nil, fmt.Errorf("collective: name %q: want lower-case letters, digits and -, a letter first", c.name)
	case slices.Contains(d.names(), c.name):
		return nil, fmt.Errorf("collective: %s is there already", c.name)
	}
	for _, part := range []struct {
		name string
		v    starlark.Value
		n    bool
	}{{"input", c.input, true}, {"output", c.output, true}, {"want", c.want, false}} {
		_, isFunction := part.v.(*starlark.Function)
		_, isNumber := part.v.(starlark.Int)
		switch {
		case isFunction || isNumber && part.n:
		case part.n:
			return nil, fmt.Errorf("collective: %s is %s: want a number, or def %s(topo, rank)", part.name, kindOf(part.v), part.name)
		default:
			return nil, fmt.Errorf("collective: want is %s: want def want(topo, rank, index)", kindOf(part.v))
		}
	}
	d.custom = append(d.custom, c)
	d.Defined = append(d.Defined, definition{c.name, c.pos})
	return starlark.None, nil
}

// maxTable limits the units of output of a custom collective: each is
// evaluated, and written to the program's file.
const maxTable = 1 << 20

// table evaluates the functions of a defined collective for all ranks and units.
func (c *customCollective) table(s *session, print func(string)) (*collective.Table, error) {
	m, table := s.machine, &collective.Table{Same: c.same}
	err := run(s, print, func(th *starlark.Thread) error {
		at := topo(m, Request{Collective: c.name})
		made := 0
		for r := range m.Ranks() {
			rank := starlark.MakeInt(r)
			in, err := c.units(th, "input", c.input, at, rank)
			if err != nil {
				return err
			}
			out, err := c.units(th, "output", c.output, at, rank)
			if err != nil {
				return err
			}
			wants := make([]collective.Want, out)
			for i := range wants {
				if made++; made > maxTable {
					return &Error{Pos: c.pos, Msg: fmt.Sprintf("collective %s: more than %d units of output", c.name, maxTable)}
				}
				s.ops.Add(1) // each allows the template some steps
				v, err := starlark.Call(th, c.want, starlark.Tuple{at, rank, starlark.MakeInt(i)}, nil)
				if err != nil {
					return err
				}
				if wants[i], err = m.asWant(v); err != nil {
					return &Error{Pos: c.pos, Msg: fmt.Sprintf("collective %s: want(%d, %d): %v", c.name, r, i, err)}
				}
			}
			table.In, table.Out, table.Want = append(table.In, in), append(table.Out, out), append(table.Want, wants)
		}
		return nil
	})
	return table, err
}

func (c *customCollective) units(th *starlark.Thread, what string, v starlark.Value, topo, rank starlark.Value) (int, error) {
	if fn, ok := v.(*starlark.Function); ok {
		var err error
		if v, err = starlark.Call(th, fn, starlark.Tuple{topo, rank}, nil); err != nil {
			return 0, err
		}
	}
	n, err := starlark.AsInt32(v)
	if err != nil || n < 0 || n > maxTable {
		return 0, &Error{Pos: c.pos, Msg: fmt.Sprintf("collective %s: %s of rank %v is %s: want a number from 0 to %d", c.name, what, rank, kindOf(v), maxTable)}
	}
	return n, nil
}

// asWant converts the result of want.
func (m Machine) asWant(v starlark.Value) (collective.Want, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return collective.Want{}, nil
	case starlark.Tuple:
		p, err := m.asPlace(v)
		return collective.Want{Kind: collective.WantInput, Rank: p.Rank, Index: p.Index}, err
	case *starlark.List:
		of := make([]collective.Place, v.Len())
		for i := range of {
			var err error
			if of[i], err = m.asPlace(v.Index(i)); err != nil {
				return collective.Want{}, err
			}
		}
		return m.reductionOf(of)
	}
	return collective.Want{}, fmt.Errorf("it returned %s: want (rank, index), a list of such, or None", kindOf(v))
}

// reductionOf returns what a list of places wants, in its shortest form if it is a
// single place, or one index of all ranks in order.
func (m Machine) reductionOf(of []collective.Place) (collective.Want, error) {
	switch len(of) {
	case 0:
		return collective.Want{}, fmt.Errorf("it returned an empty list: want what is to be reduced, or None")
	case 1:
		return collective.Want{Kind: collective.WantInput, Rank: of[0].Rank, Index: of[0].Index}, nil
	}
	whole := len(of) == m.Ranks()
	for i, p := range of {
		whole = whole && p.Rank == i && p.Index == of[0].Index
	}
	if whole {
		return collective.Want{Kind: collective.WantReduction, Index: of[0].Index}, nil
	}
	return collective.Want{Kind: collective.WantSum, Of: of}, nil
}

// asPlace reads (rank, index); the rank may be a pair (node, gpu).
func (m Machine) asPlace(v starlark.Value) (collective.Place, error) {
	pair, ok := v.(starlark.Tuple)
	if !ok || len(pair) != 2 {
		return collective.Place{}, fmt.Errorf("%s: want (rank, index)", kindOf(v))
	}
	r, err := m.asRank(pair[0])
	if err != nil {
		return collective.Place{}, err
	}
	i, err := starlark.AsInt32(pair[1])
	if err != nil {
		return collective.Place{}, fmt.Errorf("index is %s: want a number", kindOf(pair[1]))
	}
	return collective.Place{Rank: r, Index: i}, nil
}
