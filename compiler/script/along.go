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
	var a arguments
	if err := a.bind(g, th, args, kwargs); err != nil {
		return nil, err
	}
	if _, ok := several(a.v[0]); !ok {
		return nil, fmt.Errorf("%s: ranks is %s: want a list", g.fn, kindOf(a.v[0]))
	}
	n := -1
	ranks := a.integers("ranks", 0, a.s.machine.asRank, &n)
	h := hop{buf: a.buffer(1), ch: a.channel(3), stride: a.number("stride", 4, 1)}
	if h.index, _ = a.index(2); a.err != nil {
		return nil, a.err
	}
	ops, at := a.s.many(th, g.fn), lang.Ref(*r)
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
