package script

import (
	"fmt"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// Chunks are copied or reduced along a list of ranks, each receiving from the
// one before:
//
//	c.copy_along([1, 2, 3], "out", 0)      c ─▶ 1 ─▶ 2 ─▶ 3
//	c.reduce_along([1, 2, 3], "in", 0)     c ─⊕ 1 ─⊕ 2 ─⊕ 3
//
// A call traces one operation for each rank of the list, like a loop over it: a
// ring over 2,048 ranks has 8 million.

var (
	copyAlongArgs   = signature{fn: "copy_along", names: []string{"ranks", "buffer", "index", "ch", "stride"}, required: 3, positional: 3, hint: countHint}
	reduceAlongArgs = signature{fn: "reduce_along", names: []string{"ranks", "buffer", "index", "ch", "stride"}, required: 3, positional: 3, hint: countHint}
)

// copyAlong implements c.copy_along(ranks, buffer, index, ch=None, stride=1).
func (r *ref) copyAlong(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return r.along(th, &copyAlongArgs, args, kwargs, func(at *lang.Ref, h *hop) error {
		return at.CopyTo(at, h.rank, h.buf, h.index, h.stride, h.ch)
	})
}

// reduceAlong implements c.reduce_along(ranks, buffer, index, ch=None, stride=1).
func (r *ref) reduceAlong(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return r.along(th, &reduceAlongArgs, args, kwargs, func(at *lang.Ref, h *hop) error {
		var own lang.Ref
		if err := at.Trace().ChunkTo(&own, h.rank, h.buf, h.index, int(at.Span().Count), h.stride); err != nil {
			return err
		}
		return own.ReduceTo(at, at, h.ch)
	})
}

// hop is the next destination of chunks.
type hop struct {
	rank, index, stride, ch int
	buf                     collective.Buffer
}

// along reads the arguments and passes the chunks on from rank to rank. step moves
// the chunks that at refers to, and makes at refer to the result.
func (r *ref) along(th *starlark.Thread, g *signature, args starlark.Tuple, kwargs []starlark.Tuple, step func(at *lang.Ref, h *hop) error) (starlark.Value, error) {
	s, err := tracing(th, g.fn)
	if err != nil {
		return nil, err
	}
	var v [5]starlark.Value
	if err := g.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	if _, ok := several(v[0]); !ok {
		return nil, fmt.Errorf("%s: ranks is %s: want a list", g.fn, kindOf(v[0]))
	}
	var h hop
	n := -1
	ranks, err := integers("ranks", v[0], s.machine.asRank, &n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.fn, err)
	}
	if h.buf, h.ch, h.stride, err = s.options(v[1], v[3], v[4]); err != nil {
		return nil, fmt.Errorf("%s: %w", g.fn, err)
	}
	if h.index, _, err = s.index(v[2]); err != nil {
		return nil, fmt.Errorf("%s: %w", g.fn, err)
	}
	ops, at := s.many(th, g.fn), lang.Ref(*r)
	for _, h.rank = range ranks {
		if err := ops.next(h.buf, h.index, int(at.Span().Count)); err != nil {
			return nil, err
		}
		if err := step(&at, &h); err != nil {
			return nil, err
		}
	}
	ops.end()
	return (*ref)(&at), nil
}
