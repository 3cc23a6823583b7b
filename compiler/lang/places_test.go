package lang

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// TestPlacesAreOfTheRankNamed: a place in place is part of that rank's own other
// buffer, whichever rank the chunk comes from. (The closest peer takes the
// source's: its defect K.)
func TestPlacesAreOfTheRankNamed(t *testing.T) {
	for _, c := range []struct {
		collective string
		buf        collective.Buffer
		want       Span // of chunk 1 of rank 2
	}{
		{"allgather", collective.In, Span{Rank: 2, Buf: collective.Out, Index: 5, Count: 1, Stride: 1}},
		{"allgather", collective.Out, Span{Rank: 2, Buf: collective.Out, Index: 1, Count: 1, Stride: 1}},
		{"reducescatter", collective.Out, Span{Rank: 2, Buf: collective.In, Index: 5, Count: 1, Stride: 1}},
		{"allreduce", collective.Out, Span{Rank: 2, Buf: collective.In, Index: 1, Count: 1, Stride: 1}},
	} {
		tr := NewTrace("p", coll(t, c.collective, 3, 2, true))
		for from := range 3 {
			ref, err := tr.Chunk(from, collective.In, 0, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			to, err := ref.Copy(2, c.buf, 1, -1)
			if err != nil {
				t.Fatal(err)
			}
			if to.Span() != c.want {
				t.Errorf("%s: from rank %d, %s[1] of rank 2 is %v: want %v", c.collective, from, c.buf, to.Span(), c.want)
			}
		}
	}
}
