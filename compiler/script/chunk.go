package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/suggest"
)

// bufferOf returns the buffer with one of the three standard names, short or
// long. It reports false for any other name, which is a named scratch buffer.
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

// here returns the position of the call of the running builtin.
func here(th *starlark.Thread) lang.Pos { return position(th.CallFrame(1).Pos) }

// tracing returns the session that a builtin records in, or an error outside a
// program.
func tracing(th *starlark.Thread, fn string) (*session, error) {
	s := sessionOf(th)
	if s.trace == nil {
		return nil, fmt.Errorf("%s: chunks exist only while a program runs, not in the file itself, in applies or in chunks", fn)
	}
	return s, nil
}

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

// index reads an index, and returns the number of chunks it stands for.
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
		return 0, 0, fmt.Errorf("index is %s", wantNumber(v, "a number or a pair (node, gpu)"))
	}
	return i, 1, nil
}

var bufferName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)

// named returns the scratch buffer with a name. It refuses probable
// misspellings of the three standard names, which would silently be other
// buffers.
func (s *session) named(name string) (collective.Buffer, error) {
	if b, known := s.own[name]; known {
		return b, nil
	}
	for _, n := range []string{"input", "output", "scratch"} {
		if suggest.Distance(strings.ToLower(name), n) < 2 || strings.EqualFold(name, "in") || strings.EqualFold(name, "out") {
			return 0, fmt.Errorf("unknown buffer %q%s: want \"in\", \"out\", \"sc\", or a scratch buffer's own name", name, suggest.DidYouMean(strings.ToLower(name), []string{"input", "output", "scratch", "in", "out"}))
		}
	}
	if !bufferName().MatchString(name) {
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

// hintMisspelling adds to an error about an uninitialised chunk which buffer
// may have been meant, since a misspelt name creates a new, empty buffer.
func (s *session) hintMisspelling(err error, buf collective.Buffer) error {
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
		unset.Msg += suggest.DidYouMean(name, others)
	}
	return err
}

// chunkArgs are the parameters of chunk; sz is what the paper's Figure 8 calls
// count.
var chunkArgs = signature{fn: "chunk", names: []string{"rank", "buffer", "index", "count", "stride", "sz"}, required: 3, positional: 5}

// chunkBuiltin implements chunk(rank, buffer, index, count=1, stride=1): a
// reference to the chunks that are there now.
func chunkBuiltin(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var a arguments
	if err := a.bind(&chunkArgs, th, args, kwargs); err != nil {
		return nil, err
	}
	if sz := a.v[5]; sz != nil {
		if a.v[3] != nil {
			return nil, fmt.Errorf("chunk: sz is count by another name: give one of them")
		}
		a.v[3] = sz
	}
	s, stride := a.s, a.number("stride", 4, 1)
	if lists(a.v[0], a.v[2], a.v[3]) {
		return s.chunkRow(th, &a, stride)
	}
	rank, buf := a.rank(0), a.buffer(1)
	index, unit := a.index(2)
	count := a.number("count", 3, unit)
	if a.err != nil {
		return nil, a.err
	}
	countSteps(th, max(min(count, s.chunks), 0)/chunksPerStep)
	r, err := s.trace.Chunk(rank, buf, index, count, stride)
	if err != nil {
		return nil, s.hintMisspelling(err, buf)
	}
	return (*ref)(r), nil
}
