package script

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/lang"
)

// A row is several references that are moved by one call: one operation for
// each, in order, like a loop over them.
//
//	chunk([4, 5, 6], "in", 2)           in[2] of ranks 4, 5 and 6
//	    .copy(0, "sc", 8)               to rank 0, side by side: sc[8], sc[9], sc[10]
//	chunk(3, "sc", [0, 4, 8], 2)        sc[0:2], sc[4:6] and sc[8:10] of rank 3
//	chunk(3, "sc", 0, [2, 1, 4])        sc[0:2], sc[2:3] and sc[3:7] of rank 3
//
// At least one of rank, index and count is a list, and lists have equal
// lengths. Other arguments are the same for all references, except that with a
// single rank and index the references are contiguous.
type row struct{ refs lang.Refs }

func (w *row) at(i int) *ref {
	r := w.refs.At(i)
	return (*ref)(&r)
}

func (w *row) String() string        { return fmt.Sprintf("<%d references to chunks>", w.Len()) }
func (w *row) Type() string          { return "chunks" }
func (w *row) Freeze()               {}
func (w *row) Truth() starlark.Bool  { return w.Len() > 0 }
func (w *row) Hash() (uint32, error) { return 0, fmt.Errorf("chunk references cannot be keys") }

// Len returns the number of references there are.
func (w *row) Len() int { return w.refs.Len() }

// Index returns one of the references.
func (w *row) Index(i int) starlark.Value { return w.at(i) }

// Iterate goes through the references.
func (w *row) Iterate() starlark.Iterator { return &rowIterator{w, 0} }

type rowIterator struct {
	of   *row
	next int
}

func (i *rowIterator) Next(p *starlark.Value) bool {
	if i.next == i.of.Len() {
		return false
	}
	*p = i.of.Index(i.next)
	i.next++
	return true
}

func (i *rowIterator) Done() {}

// AttrNames lists the methods of a row.
func (w *row) AttrNames() []string { return []string{"copy", "reduce"} }

// Attr returns a method.
func (w *row) Attr(name string) (starlark.Value, error) {
	switch name {
	case "copy":
		return starlark.NewBuiltin("copy", w.copy), nil
	case "reduce":
		return starlark.NewBuiltin("reduce", w.reduce), nil
	}
	return nil, nil
}

// placements are the places of the references of a row: a rank and an index for
// each.
type placements struct {
	ranks, indices []int // nil if all have the same
	rank, index    int   // of all references
}

// placements reads the arguments rank and index. n is the length of the lists, or -1 if
// neither is a list. unit is how many chunks an index pair stands for.
func (a *arguments) placements(rank, index int) (at placements, n, unit int) {
	n = -1
	if at.ranks = a.integers("ranks", rank, a.s.machine.asRank, &n); at.ranks == nil {
		at.rank = a.rank(rank)
	}
	if at.indices = a.integers("indices", index, whole, &n); at.indices != nil {
		return at, n, 1
	}
	at.index, unit = a.index(index)
	return at, n, unit
}

// of returns the i-th place. If rank and index are the same for all, the
// references are contiguous, with before chunks ahead of this one.
func (p *placements) of(i, before int) (rank, index int) {
	rank, index = p.rank, p.index
	if p.ranks != nil {
		rank = p.ranks[i]
	} else {
		index += before
	}
	if p.indices != nil {
		index = p.indices[i]
	}
	return rank, index
}

// integers reads a list of numbers; it is nil if v is not a list. n is the length
// of the call's lists, or -1 before the first.
func integers(name string, v starlark.Value, read func(starlark.Value) (int, error), n *int) ([]int, error) {
	list, ok := several(v)
	if !ok {
		return nil, nil
	}
	switch most := list.Len(); {
	case most > maxList:
		return nil, fmt.Errorf("a list of %s of %d: want at most %d", name, most, maxList)
	case *n >= 0 && most != *n:
		return nil, fmt.Errorf("%d %s, beside a list of %d: want as many", most, name, *n)
	}
	*n = list.Len()
	all := make([]int, *n)
	for i := range all {
		var err error
		if all[i], err = read(list.Index(i)); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
	}
	return all, nil
}

func whole(v starlark.Value) (int, error) {
	n, err := starlark.AsInt32(v)
	if err != nil {
		return 0, errors.New(wantNumber(v, "a number"))
	}
	return n, nil
}

func lists(args ...starlark.Value) bool {
	return slices.ContainsFunc(args, func(v starlark.Value) bool {
		_, ok := several(v)
		return ok
	})
}

// chunkRow implements chunk(rank, buffer, index, count=1, stride=1) where rank,
// index or count is a list.
func (s *session) chunkRow(th *starlark.Thread, a *arguments, stride int) (starlark.Value, error) {
	buf := a.buffer(1)
	at, n, unit := a.placements(0, 2)
	counts, each := a.integers("counts", 3, whole, &n), unit
	if counts == nil {
		each = a.number("count", 3, unit)
	}
	if a.err != nil {
		return nil, a.err
	}
	w := s.newRow(th, n)
	var one lang.Ref
	ops, before := s.many(th, "chunk"), 0
	for i := range w.Len() {
		if counts != nil {
			each = counts[i]
		}
		if err := ops.count(max(min(each, s.chunks), 0)); err != nil {
			return nil, err
		}
		r, first := at.of(i, before)
		if err := s.trace.ChunkTo(&one, r, buf, first, each, stride); err != nil {
			return nil, s.hintMisspelling(err, buf)
		}
		w.refs.Set(i, &one)
		before += each * stride
	}
	ops.end()
	return w, nil
}

// newRow makes a row of n references, each of which counts as two steps.
func (s *session) newRow(th *starlark.Thread, n int) *row {
	countSteps(th, 2*n)
	return &row{s.trace.Refs(n)}
}

var (
	rowCopyArgs   = signature{fn: "copy", names: []string{"rank", "buffer", "index", "ch", "stride"}, required: 3, positional: 3, hint: "the counts are the references' own, and the channel is given by name: ch="}
	rowReduceArgs = signature{fn: "reduce", names: []string{"chunks", "ch"}, required: 1, positional: 1, hint: reduceArgs.hint}
)

// copy implements w.copy(rank, buffer, index, ch=None, stride=1): rank, index
// or both may be lists.
func (w *row) copy(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&rowCopyArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	s, buf, ch, stride := a.s, a.buffer(1), a.channel(3), a.number("stride", 4, 1)
	at, n, _ := a.placements(0, 2)
	if a.err != nil {
		return nil, a.err
	}
	if n >= 0 && n != w.Len() {
		return nil, fmt.Errorf("copy: lists of %d, for %d references: want as many", n, w.Len())
	}
	to := s.newRow(th, w.Len())
	ops, before := s.many(th, "copy"), 0
	for i := range w.Len() {
		r := w.refs.At(i)
		count := int(r.Span().Count)
		rank, index := at.of(i, before)
		if err := ops.next(buf, index, count); err != nil {
			return nil, err
		}
		if err := r.CopyTo(&r, rank, buf, index, stride, ch); err != nil {
			return nil, err
		}
		to.refs.Set(i, &r)
		before += count * stride
	}
	ops.end()
	return to, nil
}

// reduce implements w.reduce(others, ch=None): it reduces each of w's chunks
// with those at the same position in another row.
func (w *row) reduce(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&rowReduceArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	others, ok := a.v[0].(*row)
	if !ok || others.Len() != w.Len() {
		return nil, fmt.Errorf("reduce: %s: want a list of references to chunks, %d as here", kindOf(a.v[0]), w.Len())
	}
	s, ch := a.s, a.channel(1)
	if a.err != nil {
		return nil, a.err
	}
	to := s.newRow(th, w.Len())
	ops := s.many(th, "reduce")
	for i := range w.Len() {
		r, other := w.refs.At(i), others.refs.At(i)
		if err := ops.next(r.Span().Buf, 0, int(r.Span().Count)); err != nil {
			return nil, err
		}
		if err := r.ReduceTo(&r, &other, ch); err != nil {
			return nil, err
		}
		to.refs.Set(i, &r)
	}
	ops.end()
	return to, nil
}
