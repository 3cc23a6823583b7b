package script

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// bufferOf is the buffer of one of the three names, short or long. Any other name
// is a scratch buffer of its own.
func bufferOf(name string) (b collective.Buffer, ok bool) {
	switch name {
	case "in", "input":
		return collective.In, true
	case "out", "output":
		return collective.Out, true
	case "sc", "scratch":
		return collective.Scratch, true
	}
	return 0, false
}

// here is the place in the template's text that called the builtin now running.
func here(th *starlark.Thread) lang.Pos { return position(th.CallFrame(1).Pos) }

// tracing is the trace a builtin works on; there is none outside a program.
func tracing(th *starlark.Thread, fn string) (*session, error) {
	s := sessionOf(th)
	if s.trace == nil {
		return nil, fmt.Errorf("%s: chunks exist only while a program runs, not in the file itself, in applies or in chunks", fn)
	}
	return s, nil
}

// place reads the rank, buffer and index of chunk and copy. unit is how many
// chunks an index pair names, 1 for an index that is a number.
func (s *session) place(rank, buffer, index starlark.Value) (r int, b collective.Buffer, i, unit int, err error) {
	if r, err = s.machine.asRank(rank); err != nil {
		return
	}
	if b, err = s.buffer(buffer); err != nil {
		return
	}
	i, unit, err = s.index(index)
	return
}

// buffer reads a buffer's name.
func (s *session) buffer(v starlark.Value) (collective.Buffer, error) {
	name, ok := starlark.AsString(v)
	if !ok {
		return 0, fmt.Errorf("buffer is %s: want \"in\", \"out\" or \"sc\"", kindOf(v))
	}
	if b, ok := bufferOf(name); ok {
		return b, nil
	}
	return s.named(name)
}

// index reads an index, and how many chunks it names.
func (s *session) index(v starlark.Value) (i, unit int, err error) {
	if _, isPair := v.(starlark.Tuple); isPair {
		if s.unit == 0 {
			return 0, 0, fmt.Errorf("index is a pair, but the chunks of %s are no multiple of the ranks", s.trace.Collective().Name)
		}
		at, err := s.machine.asRank(v)
		if err != nil {
			return 0, 0, fmt.Errorf("index: %w", err)
		}
		return at * s.unit, s.unit, nil
	}
	if i, err = starlark.AsInt32(v); err != nil {
		return 0, 0, fmt.Errorf("index is %s", noNumber(v, "a number or a pair (node, gpu)"))
	}
	return i, 1, nil
}

var bufferName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// named is a scratch buffer by a name of its own. A slip in one of the three
// names is no such: its chunks would silently be somewhere else.
func (s *session) named(name string) (collective.Buffer, error) {
	if b, known := s.own[name]; known {
		return b, nil
	}
	for _, n := range []string{"input", "output", "scratch"} {
		if distance(strings.ToLower(name), n) < 2 || strings.EqualFold(name, "in") || strings.EqualFold(name, "out") {
			return 0, fmt.Errorf("unknown buffer %q%s: want \"in\", \"out\", \"sc\", or a scratch buffer's own name", name, DidYouMean(strings.ToLower(name), []string{"input", "output", "scratch", "in", "out"}))
		}
	}
	if !bufferName.MatchString(name) {
		return 0, fmt.Errorf("buffer %.40q: want \"in\", \"out\", \"sc\", or a scratch buffer's own name of lower-case letters, digits, _ and -", name)
	}
	b, err := s.trace.Named(name)
	if err == nil {
		if s.own == nil {
			s.own = map[string]collective.Buffer{}
		}
		s.own[name] = b
	}
	return b, err
}

// slipped adds to the error of a chunk that nothing was written to which buffer may
// have been meant: a name that is nobody's is a new buffer's, with nothing in it.
func (s *session) slipped(err error, buf collective.Buffer) error {
	var unset *lang.Error
	if !errors.As(err, &unset) || !unset.Unset {
		return err
	}
	name, others := "", []string{"input", "output", "scratch", "in", "out", "sc"}
	for own, b := range s.own {
		if b == buf {
			name = own
		} else {
			others = append(others, own)
		}
	}
	if name != "" {
		slices.Sort(others)
		unset.Msg += DidYouMean(name, others)
	}
	return err
}

// number reads an optional number.
func number(name string, v starlark.Value, otherwise int) (int, error) {
	if v == nil || v == starlark.None {
		return otherwise, nil
	}
	n, err := starlark.AsInt32(v)
	if err != nil {
		return 0, fmt.Errorf("%s is %s", name, noNumber(v, "a number"))
	}
	return n, nil
}

// chunkArgs are the parameters of chunk; sz is what the paper's Figure 8 calls
// count.
var chunkArgs = signature{fn: "chunk", names: []string{"rank", "buffer", "index", "count", "stride", "sz"}, required: 3, positional: 5}

// chunkBuiltin is chunk(rank, buffer, index, count=1, stride=1): a reference
// to the chunks that are there now.
func chunkBuiltin(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := tracing(th, "chunk")
	if err != nil {
		return nil, err
	}
	var v [6]starlark.Value
	if err := chunkArgs.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	if v[5] != nil {
		if v[3] != nil {
			return nil, fmt.Errorf("chunk: sz is count by another name: give one of them")
		}
		v[3] = v[5]
	}
	stride, err := number("stride", v[4], 1)
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	if lists(v[0], v[2], v[3]) {
		return s.chunkRow(th, v[0], v[1], v[2], v[3], stride)
	}
	rank, buf, index, unit, err := s.place(v[0], v[1], v[2])
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	count, err := number("count", v[3], unit)
	if err != nil {
		return nil, fmt.Errorf("chunk: %w", err)
	}
	work(th, max(min(count, s.chunks), 0)/chunksPerStep)
	r, err := s.trace.Chunk(rank, buf, index, count, stride)
	if err != nil {
		return nil, s.slipped(err, buf)
	}
	return (*ref)(r), nil
}

// ref is a reference to chunks, as a value of the template: the very same in
// memory, since a program makes two for every operation.
type ref lang.Ref

func (r *ref) lang() *lang.Ref { return (*lang.Ref)(r) }

func (r *ref) String() string        { return r.lang().Tell() }
func (r *ref) Type() string          { return "chunk" }
func (r *ref) Freeze()               {}
func (r *ref) Truth() starlark.Bool  { return true }
func (r *ref) Hash() (uint32, error) { return 0, fmt.Errorf("chunk references cannot be keys") }

// AttrNames lists the methods and attributes of a reference.
func (r *ref) AttrNames() []string {
	return []string{"buffer", "copy", "copy_along", "count", "group", "index", "rank", "reduce", "reduce_along", "split", "stride"}
}

// Attr is a method, or where the chunks lie: their canonical place.
func (r *ref) Attr(name string) (starlark.Value, error) {
	for i := range methods {
		if methods[i].name == name {
			return &method{&methods[i], r}, nil
		}
	}
	at := r.lang().Span()
	switch name {
	case "rank":
		return starlark.MakeInt(int(at.Rank)), nil
	case "buffer":
		return starlark.String(r.lang().Trace().BufferName(at.Buf)), nil
	case "index":
		return starlark.MakeInt(int(at.Index)), nil
	case "count":
		return starlark.MakeInt(int(at.Count)), nil
	case "stride":
		return starlark.MakeInt(int(at.Stride)), nil
	}
	return nil, nil
}

// deed is something that references can do.
type deed struct {
	name string
	do   func(*ref, *starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)
}

var methods = [...]deed{
	{"copy", (*ref).copy},
	{"reduce", (*ref).reduce},
	{"split", (*ref).split},
	{"group", (*ref).group},
	{"copy_along", (*ref).copyAlong},
	{"reduce_along", (*ref).reduceAlong},
}

// method is a method of a reference, ready to be called.
type method struct {
	*deed
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

// ch is given by name, so that the count which the paper's Figure 3 passes in
// its place is refused instead of taken for a channel.
var (
	copyArgs   = signature{fn: "copy", names: []string{"rank", "buffer", "index", "ch", "stride"}, required: 3, positional: 3, hint: "the count is the reference's own, and the channel is given by name: ch="}
	reduceArgs = signature{fn: "reduce", names: []string{"chunk", "ch"}, required: 1, positional: 1, hint: "the channel is given by name: ch="}
	splitArgs  = signature{fn: "split", names: []string{"n"}, positional: 1}
	groupArgs  = signature{fn: "group", names: []string{"chunk"}, required: 1, positional: 1}
)

// split is c.split(n): n references to equal parts, or to single chunks.
func (r *ref) split(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if _, err := tracing(th, "split"); err != nil {
		return nil, err
	}
	var v [1]starlark.Value
	if err := splitArgs.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	n, err := number("n", v[0], int(r.lang().Span().Count))
	if err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	if err := made(th, max(n, 0)); err != nil {
		return nil, err
	}
	parts, err := r.lang().Split(n)
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(parts))
	for i, p := range parts {
		list[i] = (*ref)(p)
	}
	return starlark.NewList(list), nil
}

// group is c.group(d): one reference to the chunks of both.
func (r *ref) group(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if _, err := tracing(th, "group"); err != nil {
		return nil, err
	}
	var v [1]starlark.Value
	if err := groupArgs.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	other, ok := v[0].(*ref)
	if !ok {
		return nil, fmt.Errorf("group: %s: want a chunk", kindOf(v[0]))
	}
	both, err := r.lang().Group(other.lang())
	if err != nil {
		return nil, err
	}
	return (*ref)(both), nil
}

func (r *ref) copy(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := tracing(th, "copy")
	if err != nil {
		return nil, err
	}
	var v [5]starlark.Value
	if err := copyArgs.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	rank, buf, index, _, err := s.place(v[0], v[1], v[2])
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	ch, err := channel(v[3])
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	stride, err := number("stride", v[4], 1)
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
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
	s, err := tracing(th, "reduce")
	if err != nil {
		return nil, err
	}
	var v [2]starlark.Value
	if err := reduceArgs.bind(v[:], args, kwargs); err != nil {
		return nil, err
	}
	other, ok := v[0].(*ref)
	if !ok {
		return nil, fmt.Errorf("reduce: %s: want a chunk", kindOf(v[0]))
	}
	ch, err := channel(v[1])
	if err != nil {
		return nil, fmt.Errorf("reduce: %w", err)
	}
	if err := s.before(th, r); err != nil {
		return nil, err
	}
	return s.after(r.lang().Reduce(other.lang(), ch))
}

// channel reads ch=: a channel, or None for the compiler to choose.
func channel(v starlark.Value) (int, error) {
	ch, err := number("ch", v, -1)
	if err == nil && ch < 0 && v != nil && v != starlark.None {
		return 0, fmt.Errorf("ch is %d: want a channel from 0 on, or None", ch)
	}
	return ch, err
}

// before says where the coming operation stands, and whether there may be one
// more, of all of r's chunks.
func (s *session) before(th *starlark.Thread, r *ref) error {
	work(th, int(r.lang().Span().Count)/chunksPerStep)
	s.trace.At(here(th))
	if s.broken != nil {
		return s.broken
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
	s.ops.Store(int64(s.trace.Len()))
	return (*ref)(r), nil
}

// signature is the parameters of a builtin that is called too often for the
// general machinery.
type signature struct {
	fn         string
	names      []string
	required   int // the first so many must be given
	positional int // the first so many may be given without their names
	hint       string
}

// bind puts the arguments of a call where their names stand in the signature.
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
		return fmt.Errorf("%s: unknown argument %s%s", g.fn, key, DidYouMean(key, g.names))
	}
	for i := range g.required {
		if into[i] == nil {
			return fmt.Errorf("%s: %s is missing", g.fn, g.names[i])
		}
	}
	return nil
}
