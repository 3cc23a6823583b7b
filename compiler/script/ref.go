package script

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// ref is a lang.Ref as a Starlark value. The two types share memory, because a
// program makes two references for every operation.
type ref lang.Ref

func (r *ref) lang() *lang.Ref { return (*lang.Ref)(r) }

func (r *ref) String() string        { return r.lang().Describe() }
func (r *ref) Type() string          { return "chunk" }
func (r *ref) Freeze()               {}
func (r *ref) Truth() starlark.Bool  { return true }
func (r *ref) Hash() (uint32, error) { return 0, fmt.Errorf("chunk references cannot be keys") }

// attributes say where the chunks of a reference are: their canonical place.
var attributes = [...]struct {
	name string
	of   func(*ref) starlark.Value
}{
	{"rank", func(r *ref) starlark.Value { return starlark.MakeInt(int(r.lang().Span().Rank)) }},
	{"buffer", func(r *ref) starlark.Value { return starlark.String(r.lang().Trace().BufferName(r.lang().Span().Buf)) }},
	{"index", func(r *ref) starlark.Value { return starlark.MakeInt(int(r.lang().Span().Index)) }},
	{"count", func(r *ref) starlark.Value { return starlark.MakeInt(int(r.lang().Span().Count)) }},
	{"stride", func(r *ref) starlark.Value { return starlark.MakeInt(int(r.lang().Span().Stride)) }},
}

// AttrNames lists the methods and attributes of a reference.
func (r *ref) AttrNames() []string {
	var names []string
	for i := range methods {
		names = append(names, methods[i].name)
	}
	for i := range attributes {
		names = append(names, attributes[i].name)
	}
	slices.Sort(names)
	return names
}

// Attr returns a method or an attribute of a reference.
func (r *ref) Attr(name string) (starlark.Value, error) {
	for i := range methods {
		if methods[i].name == name {
			return &method{&methods[i], r}, nil
		}
	}
	for i := range attributes {
		if attributes[i].name == name {
			return attributes[i].of(r), nil
		}
	}
	return nil, nil
}

type refMethod struct {
	name string
	do   func(*ref, *starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)
}

var methods = [...]refMethod{
	{"copy", (*ref).copy},
	{"reduce", (*ref).reduce},
	{"split", (*ref).split},
	{"group", (*ref).group},
	{"copy_along", (*ref).copyAlong},
	{"reduce_along", (*ref).reduceAlong},
}

// method is a method bound to a reference.
type method struct {
	*refMethod
	of *ref
}

func (m *method) String() string        { return "<method " + m.name + " of chunk>" }
func (m *method) Type() string          { return "method" }
func (m *method) Freeze()               {}
func (m *method) Truth() starlark.Bool  { return true }
func (m *method) Hash() (uint32, error) { return 0, fmt.Errorf("methods cannot be keys") }
func (m *method) Name() string          { return m.name }

// CallInternal calls the method.
func (m *method) CallInternal(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return m.do(m.of, th, args, kwargs)
}

// ch can only be given by name: in its place, the paper's Figure 3b passes copy the
// count, which must be the reference's own.
const countHint = "the count is the reference's own, and the channel is given by name: ch="

var (
	copyArgs   = signature{fn: "copy", names: []string{"rank", "buffer", "index", "count", "ch", "stride"}, required: 3, positional: 4, hint: countHint}
	reduceArgs = signature{fn: "reduce", names: []string{"chunk", "ch"}, required: 1, positional: 1, hint: "the channel is given by name: ch="}
	splitArgs  = signature{fn: "split", names: []string{"n"}, positional: 1}
	groupArgs  = signature{fn: "group", names: []string{"chunk"}, required: 1, positional: 1}
)

// split implements c.split(n): n references to equal parts, or to single chunks.
func (r *ref) split(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&splitArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	n := a.number("n", 0, int(r.lang().Span().Count))
	if a.err != nil {
		return nil, a.err
	}
	countSteps(th, min(max(n, 0), int(r.lang().Span().Count)))
	parts, err := r.lang().Split(n)
	if err != nil {
		return nil, err
	}
	return listOf(len(parts), func(i int) starlark.Value { return (*ref)(parts[i]) }), nil
}

// group implements c.group(d): one reference to the chunks of both.
func (r *ref) group(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&groupArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	other, ok := a.v[0].(*ref)
	if !ok {
		return nil, fmt.Errorf("group: %s: want a chunk", kindOf(a.v[0]))
	}
	both, err := r.lang().Group(other.lang())
	if err != nil {
		return nil, err
	}
	return (*ref)(both), nil
}

func (r *ref) copy(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&copyArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	s, own := a.s, int(r.lang().Span().Count)
	if count := a.number("count", 3, own); a.err == nil && count != own {
		return nil, fmt.Errorf("copy: count is %d, of a reference to %d (%s)", count, own, countHint)
	}
	rank, buf := a.rank(0), a.buffer(1)
	index, _ := a.index(2)
	ch, stride := a.channel(4), a.number("stride", 5, 1)
	if a.err != nil {
		return nil, a.err
	}
	if err := s.before(th, r); err != nil {
		return nil, err
	}
	if most := s.scratchLimit(); buf >= collective.Scratch && index >= most {
		return nil, s.tooMuchScratch("copy", index, most)
	}
	return s.after(r.lang().CopyStrided(rank, buf, index, stride, ch))
}

func (r *ref) reduce(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&reduceArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	s, ch := a.s, a.channel(1)
	if a.err != nil {
		return nil, a.err
	}
	switch other := a.v[0].(type) {
	case *ref:
		if err := s.before(th, r); err != nil {
			return nil, err
		}
		return s.after(r.lang().Reduce(other.lang(), ch))
	case *row:
		return s.reduceAll(th, r, other, ch)
	}
	return nil, fmt.Errorf("reduce: %s: want a chunk, or a list of them", kindOf(a.v[0]))
}

// reduceAll reduces r with each of a row's references in turn.
func (s *session) reduceAll(th *starlark.Thread, r *ref, others *row, ch int) (starlark.Value, error) {
	ops, sum := s.many(th, "reduce"), lang.Ref(*r)
	for i := range others.Len() {
		if err := ops.next(sum.Span().Buf, 0, int(sum.Span().Count)); err != nil {
			return nil, err
		}
		other := others.refs.At(i)
		if err := sum.ReduceTo(&sum, &other, ch); err != nil {
			return nil, err
		}
	}
	ops.end()
	return (*ref)(&sum), nil
}

// channel reads ch=: a channel, or None for the compiler to choose.
func channel(v starlark.Value) (int, error) {
	ch, err := number("ch", v, -1)
	if err == nil && ch < 0 && v != nil && v != starlark.None {
		return 0, fmt.Errorf("ch is %d: want a channel from 0 on, or None", ch)
	}
	return ch, err
}

// before sets the position of the next operation, and checks that the limits
// allow it for all of r's chunks.
func (s *session) before(th *starlark.Thread, r *ref) error {
	countSteps(th, int(r.lang().Span().Count)/chunksPerStep)
	s.trace.At(here(th))
	if s.err != nil {
		return s.err
	}
	if most := s.opLimit(); s.trace.Len() >= most {
		return s.tooManyOps(most)
	}
	return nil
}

func (s *session) after(r *lang.Ref, err error) (starlark.Value, error) {
	if err != nil {
		return nil, err
	}
	s.advance()
	return (*ref)(r), nil
}

// advance notes that operations have been traced.
func (s *session) advance() {
	s.ops.Store(int64(s.trace.Len()))
	if s.progress != nil {
		s.progress()
	}
}
