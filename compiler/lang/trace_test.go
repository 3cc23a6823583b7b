package lang

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

const (
	in  = collective.In
	out = collective.Out
	sc  = collective.Scratch
)

// coll returns a collective for tests.
func coll(t testing.TB, name string, ranks, chunks int, inPlace bool) collective.Collective {
	t.Helper()
	c, err := collective.New(collective.Spec{Name: name, Ranks: ranks, Chunks: chunks, InPlace: inPlace})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// writer writes a program without looking at errors: the first one stays, at
// the line it was met on; what follows does nothing.
type writer struct {
	*Trace
	line int
	err  error
}

func (w *writer) step(f func() (*Ref, error)) *Ref {
	if w.err != nil {
		return nil
	}
	w.line++
	w.At(Pos{"p", w.line, 1})
	r, err := f()
	w.err = err
	return r
}

func (w *writer) chunk(rank int, b collective.Buffer, index, count int) *Ref {
	return w.step(func() (*Ref, error) { return w.Chunk(rank, b, index, count, 1) })
}

func (w *writer) copy(r *Ref, rank int, b collective.Buffer, index int) *Ref {
	return w.step(func() (*Ref, error) { return r.Copy(rank, b, index, -1) })
}

func (w *writer) reduce(r, other *Ref) *Ref {
	return w.step(func() (*Ref, error) { return r.Reduce(other, -1) })
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name       string
		collective string
		ranks      int
		chunks     int
		inPlace    bool
		program    func(w *writer)
		want       string
	}{
		{"stale after copy", "allreduce", 2, 2, true, func(w *writer) {
			a := w.chunk(0, in, 0, 2)
			w.copy(w.chunk(1, in, 1, 1), 0, in, 1)
			w.copy(a, 1, sc, 0)
		}, "p:4:1: stale reference: rank 0 in[1] has been overwritten at p:3:1; refer to what is there now"},
		{"stale after reduce, by the other name", "allreduce", 2, 1, true, func(w *writer) {
			a := w.chunk(0, out, 0, 1)
			w.reduce(w.chunk(0, in, 0, 1), w.chunk(1, in, 0, 1))
			w.copy(a, 1, in, 0)
		}, "p:5:1: stale reference: rank 0 in[0] has been overwritten at p:4:1; refer to what is there now"},
		{"stale operand of reduce", "allreduce", 2, 1, true, func(w *writer) {
			a := w.chunk(0, in, 0, 1)
			w.copy(w.chunk(1, in, 0, 1), 0, in, 0)
			w.reduce(w.chunk(1, in, 0, 1), a)
		}, "p:5:1: stale reference: rank 0 in[0] has been overwritten at p:3:1; refer to what is there now"},
		{"output is empty at first", "allreduce", 2, 1, false, func(w *writer) { w.chunk(0, out, 0, 1) },
			"p:1:1: uninitialised chunk: nothing has been written to rank 0 out[0]"},
		{"second chunk is empty", "allgather", 2, 1, false, func(w *writer) {
			w.copy(w.chunk(0, in, 0, 1), 1, out, 0)
			w.chunk(1, out, 0, 2)
		}, "p:3:1: uninitialised chunk: nothing has been written to rank 1 out[1]"},
		{"negative index", "allreduce", 2, 1, true, func(w *writer) { w.chunk(0, in, -1, 1) },
			"p:1:1: rank 0 in[-1] is out of range: in of rank 0 holds 1 chunk"},
		{"beyond the end", "allreduce", 2, 4, true, func(w *writer) { w.chunk(1, in, 2, 3) },
			"p:1:1: rank 1 in[2:5] is out of range: in of rank 1 holds 4 chunks"},
		{"scattered beyond the end", "allreduce", 2, 4, true, func(w *writer) {
			w.step(func() (*Ref, error) { return w.Chunk(1, in, 0, 2, 4) })
		}, "p:1:1: rank 1 in[0:8:4] is out of range: in of rank 1 holds 4 chunks"},
		{"in-place input is its own size", "allgather", 2, 2, true, func(w *writer) { w.chunk(1, in, 2, 1) },
			"p:1:1: rank 1 in[2] is out of range: in of rank 1 holds 2 chunks"},
		{"no such rank", "allreduce", 2, 1, true, func(w *writer) { w.copy(w.chunk(0, in, 0, 1), 2, in, 0) },
			"p:2:1: rank 2 is out of range: there are 2 ranks"},
		{"not the root", "scatter", 2, 1, false, func(w *writer) { w.chunk(1, in, 0, 1) },
			"p:1:1: rank 1 in[0] is out of range: in of rank 1 holds no chunks"},
		{"no chunks", "allreduce", 2, 1, true, func(w *writer) { w.chunk(0, in, 0, 0) },
			"p:1:1: a reference to 0 chunks: want at least 1, at most 67108864"},
		{"no link", "allreduce", 4, 1, true, func(w *writer) {
			w.SetLinked(func(a, b int) bool { return b == a+1 })
			w.copy(w.copy(w.chunk(0, in, 0, 1), 1, sc, 0), 0, sc, 0)
		}, "p:3:1: no link from rank 1 to rank 0"},
		{"a reduce needs the link from the operand", "allreduce", 4, 1, true, func(w *writer) {
			w.SetLinked(func(a, b int) bool { return b == a+1 })
			w.reduce(w.chunk(0, in, 0, 1), w.chunk(1, in, 0, 1))
		}, "p:3:1: no link from rank 1 to rank 0"},
		{"unequal counts", "allreduce", 2, 4, true, func(w *writer) { w.reduce(w.chunk(0, in, 0, 3), w.chunk(1, in, 0, 2)) },
			"p:3:1: reduce of rank 0 in[0:3] with rank 1 in[0:2]: 3 chunks and 2 chunks"},
		{"nothing to reduce", "allgather", 2, 1, false, func(w *writer) {
			w.reduce(w.copy(w.chunk(0, in, 0, 1), 0, out, 0), w.chunk(1, in, 0, 1))
		}, "p:4:1: allgather has no reduction: reduce cannot be used in it"},
		{"chunk reduced into itself", "allreduce", 2, 1, true, func(w *writer) { w.reduce(w.chunk(0, in, 0, 1), w.chunk(0, out, 0, 1)) },
			"p:3:1: reduce of rank 0 in[0] with rank 0 in[0]: the same chunks"},
		{"overlapping copy", "allreduce", 2, 4, true, func(w *writer) { w.copy(w.chunk(0, in, 0, 3), 0, out, 1) },
			"p:2:1: copy of rank 0 in[0:3] to rank 0 in[1:4]: source and destination overlap"},
		{"the caller's input", "alltoall", 2, 1, false, func(w *writer) { w.copy(w.chunk(0, in, 0, 1), 1, in, 0) },
			"p:2:1: rank 1 in[0] is input and not output of a call out of place: it belongs to the caller, and must not be overwritten"},
		{"the caller's input in place", "reducescatter", 2, 1, true, func(w *writer) { w.reduce(w.chunk(0, in, 1, 1), w.chunk(1, in, 1, 1)) },
			"p:3:1: rank 0 in[1] is input and not output of a call in place: it belongs to the caller, and must not be overwritten"},
		{"channel", "allreduce", 2, 1, true, func(w *writer) {
			a := w.chunk(0, in, 0, 1)
			w.step(func() (*Ref, error) { return a.Copy(1, sc, 0, MaxChannel) })
		}, "p:2:1: channel 1024: want 0 to 1023, or none"},
		{"never written", "allgather", 2, 1, false, func(w *writer) { w.copy(w.chunk(0, in, 0, 1), 0, out, 0) },
			"p:2:1: wrong result: rank 0 out[1] holds nothing, want in[0] of rank 1 (and 2 more output chunks are wrong)"},
		{"swapped", "alltonext", 2, 2, false, func(w *writer) {
			w.copy(w.chunk(0, in, 0, 1), 1, out, 1)
			w.copy(w.chunk(0, in, 1, 1), 1, out, 0)
		}, "p:4:1: wrong result: rank 1 out[0] holds in[1] of rank 0, want in[0] of rank 0 (and 1 more output chunks are wrong)"},
		{"reduced twice", "allreduce", 3, 1, true, func(w *writer) {
			for _, r := range []int{1, 2, 1} {
				w.reduce(w.chunk(0, in, 0, 1), w.chunk(r, in, 0, 1))
			}
			c := w.chunk(0, in, 0, 1)
			w.copy(c, 1, in, 0)
			w.copy(c, 2, in, 0)
		}, "p:9:1: wrong result: rank 0 out[0] holds in[0] of ranks 0-2 (rank 1 twice), want in[0] of ranks 0-2, each once (and 2 more output chunks are wrong)"},
		{"doubled beyond counting", "allreduce", 2, 1, true, func(w *writer) {
			for range 70 {
				w.copy(w.chunk(0, in, 0, 1), 0, sc, 0)
				w.reduce(w.chunk(0, in, 0, 1), w.chunk(0, sc, 0, 1))
			}
		}, "p:350:1: wrong result: rank 0 out[0] holds a sum of more than 8192 contributions, want in[0] of ranks 0-1, each once (and 1 more output chunks are wrong)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writer{Trace: NewTrace("test", coll(t, c.collective, c.ranks, c.chunks, c.inPlace))}
			c.program(w)
			if w.err == nil {
				_, w.err = w.Finish()
			}
			var e *Error
			if !errors.As(w.err, &e) || e.Error() != c.want {
				t.Errorf("error\n\t%v\nwant\n\t%s", w.err, c.want)
			}
		})
	}
}

func TestCopyOntoItselfIsNoOperation(t *testing.T) {
	tr := NewTrace("test", coll(t, "allgather", 2, 1, true))
	for r := range 2 {
		own, err := tr.Chunk(r, in, 0, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if own, err = own.Copy(r, out, r, -1); err != nil {
			t.Fatal(err)
		}
		if _, err = own.Copy(1-r, out, r, 3); err != nil {
			t.Fatal(err)
		}
	}
	p, err := tr.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ops) != 2 || p.Ops[0].Src.Buf != out || p.Ops[1].Src.Index != 1 || p.Ops[1].Channel != 3 {
		t.Errorf("operations %+v: want the two remote copies, from out", p.Ops)
	}
}

func TestStridedShuffle(t *testing.T) {
	tr := NewTrace("test", coll(t, "sendrecv", 1, 6, false))
	// 0 3 / 1 4 / 2 5 and back
	for i := range 3 {
		c, err := tr.Chunk(0, in, i, 2, 3)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Copy(0, sc, 2*i, -1); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		c, err := tr.Chunk(0, sc, i, 3, 2)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = c.CopyStrided(0, sc, 10+i, 2, -1); err != nil {
			t.Fatal(err)
		}
		if _, err = c.Copy(0, out, 3*i, -1); err != nil {
			t.Fatal(err)
		}
	}
	p, err := tr.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Ops[3].Dst.String(); got != "rank 0 sc[10:16:2]" || p.Scratch[0] != 16 {
		t.Errorf("destination %s, %d scratch", got, p.Scratch[0])
	}
}

func TestStridesThatInterleaveDoNotOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b Span
		want bool
	}{
		{Span{0, 0, 3, 2, in}, Span{0, 1, 3, 2, in}, false},
		{Span{0, 0, 3, 2, in}, Span{0, 4, 1, 1, in}, true},
		{Span{0, 0, 3, 2, in}, Span{0, 5, 2, 1, in}, false},
		{Span{0, 0, 4, 3, in}, Span{0, 1, 4, 4, in}, true}, // 9
		{Span{0, 0, 2, 1, in}, Span{1, 0, 2, 1, in}, false},
		{Span{0, 0, 2, 1, in}, Span{0, 0, 2, 1, sc}, false},
	} {
		if overlap(c.a, c.b) != c.want || overlap(c.b, c.a) != c.want {
			t.Errorf("%v and %v: overlap is not %v", c.a, c.b, c.want)
		}
	}
}

func TestScopes(t *testing.T) {
	tr := NewTrace("test", coll(t, "sendrecv", 2, 1, false))
	move := func(to int) {
		c, err := tr.Chunk(1-to, in, 0, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Copy(to, out, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	enter := func(n int) {
		if err := tr.Enter(n); err != nil {
			t.Fatal(err)
		}
	}
	enter(1)
	move(0)
	enter(4)
	enter(2)
	move(1)
	tr.Leave()
	move(0)
	if err := tr.Enter(512); err == nil || !strings.Contains(err.Error(), "more than 1024 instances") {
		t.Errorf("4 times 512 instances: %v", err)
	}
	tr.Leave()
	if _, err := tr.Finish(); err == nil || !strings.Contains(err.Error(), "entered and not left") {
		t.Errorf("open scope: %v", err)
	}
	tr.Leave()
	tr.Leave() // one too many
	move(1)
	p, err := tr.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var scopes []int32
	for _, op := range p.Ops {
		scopes = append(scopes, op.Scope)
	}
	want := []Scope{{0, 1}, {0, 4}, {1, 2}}
	if len(p.Scopes) != 3 || p.Scopes[1] != want[1] || p.Scopes[2] != want[2] {
		t.Errorf("scopes %v, want %v", p.Scopes, want)
	}
	if got := [4]int32(scopes); got != [4]int32{0, 2, 1, 0} {
		t.Errorf("operations in scopes %v", got)
	}
}

func TestTooLargeToTrace(t *testing.T) {
	for _, c := range []collective.Collective{
		coll(t, "allreduce", 2, MaxPlaces, true),
		coll(t, "alltoall", 1<<15, 1<<15, false),
		coll(t, "allreduce", 2, 1<<62, true),
	} {
		tr := NewTrace("test", c)
		if _, err := tr.Chunk(0, in, 0, 1, 1); err == nil || !strings.Contains(err.Error(), "more than can be traced") {
			t.Errorf("%d ranks, %d chunks: %v", c.Ranks, c.Chunks, err)
		}
		if _, err := tr.Finish(); err == nil {
			t.Error("it could be finished")
		}
	}
}

// TestDocExample is the program of the package's documentation.
func TestDocExample(t *testing.T) {
	w := &writer{Trace: NewTrace("sum", coll(t, "allreduce", 2, 1, true))}
	a := w.chunk(0, in, 0, 1)
	b := w.reduce(w.chunk(1, in, 0, 1), a)
	w.copy(b, 0, in, 0)
	if w.err != nil {
		t.Fatal(w.err)
	}
	p, err := w.Finish()
	if err != nil || len(p.Ops) != 2 || p.Ops[0].Src.Rank != 0 || p.Ops[0].Dst.Rank != 1 || p.Ops[0].Channel != -1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// A trace that exceeds the caller's limit of operations stops there, with an error that
// names the limit and no mistake of the program.
func TestMostOperations(t *testing.T) {
	for _, most := range []int{1, 3, 14, MaxOps + 1} {
		w := &writer{Trace: NewTrace("p", coll(t, "allgather", 4, 1, false))}
		w.SetMaxOps(most)
		for from := range 4 {
			for to := range 4 {
				w.copy(w.chunk(from, in, 0, 1), to, out, from)
			}
		}
		var e *Error
		switch large := most < 16; {
		case large && (!errors.As(w.err, &e) || !e.Large || w.Len() != most):
			t.Errorf("at most %d operations: %v after %d, want it to end there", most, w.err, w.Len())
		case !large && w.err != nil:
			t.Errorf("at most %d operations: %v", most, w.err)
		}
	}
}

// A sketch has the operations of a trace, and what depends on values goes unnoticed.
func TestSketch(t *testing.T) {
	s := NewSketch("sketch", coll(t, "allreduce", 2, 1, true))
	unset, err := s.Chunk(0, sc, 3, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unset.Copy(1, in, 0, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := unset.Copy(1, sc, 4, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Chunk(0, in, 1, 1, 1); err == nil {
		t.Error("a chunk outside its buffer is no error")
	}
	p, err := s.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Ops) != 2 || p.Scratch[0] != 0 || p.Scratch[1] != 5 {
		t.Errorf("%d operations, scratch %v", len(p.Ops), p.Scratch)
	}
}
