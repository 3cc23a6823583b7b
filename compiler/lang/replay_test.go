package lang

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// recorded traces programs with several files, scopes, channels and named buffers.
func recorded(t *testing.T) *Trace {
	tr := NewTrace("x", coll(t, "allreduce", 4, 4, true))
	tr.At(Pos{"a.star", 3, 4})
	named, err := tr.Named("mine")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{tr.Enter(2), tr.Enter(3)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		tr.At(Pos{"b.star", 7 + i/2, 9})
		c, err := tr.Chunk(0, in, i, 1, 1)
		for r := 1; r < 4 && err == nil; r++ {
			var own *Ref
			if own, err = tr.Chunk(r, in, i, 1, 1); err == nil {
				c, err = own.Reduce(c, i-1)
			}
		}
		for r := 0; r < 3 && err == nil; r++ {
			if _, err = c.Copy(r, in, i, -1); err == nil && r > 0 {
				_, err = c.Copy(r, named, 5*i, 2)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		tr.Leave()
	}
	tr.At(Pos{"a.star", 9, 1})
	c, err := tr.Chunk(1, named, 0, 4, 5)
	if err == nil {
		_, err = c.CopyStrided(2, named, 20, 2, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestReplay(t *testing.T) {
	for _, most := range []int{1, 3, 1000} {
		tr := recorded(t)
		again, r := NewTrace("x", tr.Collective()), tr.Record()
		for r.Len() > 0 {
			if err := again.Replay(r.Append(nil, most)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := tr.Finish()
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Finish()
		if err != nil {
			t.Fatal(err)
		}
		none := collective.Collective{} // it holds functions
		if got.Collective, want.Collective = none, none; !reflect.DeepEqual(got, want) {
			t.Errorf("%d at a time: %+v, want %+v", most, got, want)
		}
	}
}

// TestReplayChecks replays operations that no program may have.
func TestReplayChecks(t *testing.T) {
	at := mark{1, 2, 3}
	for want, op := range map[string]Op{
		"uninitialised":   {Src: Span{Buf: sc, Count: 1, Stride: 1}, Dst: Span{Rank: 1, Count: 1, Stride: 1}},
		"no reduction":    {Kind: Reduce, Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Count: 1, Stride: 1}},
		"overlap":         {Src: Span{Count: 1, Stride: 1}, Dst: Span{Count: 1, Stride: 1}},
		"no link":         {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 2, Buf: out, Count: 1, Stride: 1}},
		"belongs to":      {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Count: 1, Stride: 1}},
		"channel 4999":    {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}, Channel: 4999},
		"garbled: rank":   {Src: Span{Rank: 3, Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}},
		"garbled: index":  {Src: Span{Index: 9, Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}},
		"garbled: count":  {Src: Span{Count: 1 << 30, Stride: 1 << 30}, Dst: Span{Rank: 1, Buf: out, Count: 1 << 30, Stride: 1}},
		"garbled: buffer": {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: sc + 1, Count: 1, Stride: 1}},
		"garbled: scope":  {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}, Scope: 1},
		"garbled: kind":   {Kind: 2, Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}},
		"garbled: file":   {Src: Span{Count: 1, Stride: 1}, Dst: Span{Rank: 1, Buf: out, Count: 1, Stride: 1}, at: mark{2, 1, 1}},
	} {
		if op.at == (mark{}) {
			op.at = at
		}
		c := coll(t, "allgather", 3, 1, false)
		from := NewTrace("x", c)
		from.files = files{"x.star"}
		from.ops.add(op)
		to := NewTrace("x", c)
		to.SetLinked(func(a, b int) bool { return b != 2 })
		err := to.Replay(from.Record().Append(nil, 1))
		if _, garbled := strings.CutPrefix(want, "garbled"); garbled {
			if !errors.Is(err, ErrGarbled) {
				t.Errorf("%s: %v", want, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.star:2:3: ") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzReplay replays any bytes.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			b = recorded(t).Record().Append(nil, 100)
			b = b[:len(b)-1]
		}
		to := NewTrace("x", coll(t, "allreduce", 4, 4, true))
		var wrong *Error
		if err := to.Replay(b); err != nil && !errors.Is(err, ErrGarbled) && !errors.As(err, &wrong) {
			t.Error(err)
		}
		_, _ = to.Finish()
	})
}
