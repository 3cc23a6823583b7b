package collective

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The outputs of three ranks at the end, rank by rank; rank 1 is the root. 2.0 is chunk
// 0 of rank 2's input, +0 is the sum of chunk 0 of all inputs, and - is a chunk without
// a requirement.
func TestWants(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"allreduce", "+0 | +0 | +0"},
		{"allgather", "0.0 1.0 2.0 | 0.0 1.0 2.0 | 0.0 1.0 2.0"},
		{"reducescatter", "+0 | +1 | +2"},
		{"alltoall", "0.0 1.0 2.0 | 0.1 1.1 2.1 | 0.2 1.2 2.2"},
		{"alltonext", "- | 0.0 | 1.0"},
		{"sendrecv", "2.0 | 0.0 | 1.0"},
		{"broadcast", "1.0 | 1.0 | 1.0"},
		{"reduce", " | +0 | "},
		{"gather", " | 0.0 1.0 2.0 | "},
		{"scatter", "1.0 | 1.1 | 1.2"},
		{"allgatherv", "0.0 1.0 2.0 | 0.0 1.0 2.0 | 0.0 1.0 2.0"},
		{"alltoallv", "0.0 1.0 2.0 | 0.1 1.1 2.1 | 0.2 1.2 2.2"},
		{"gatherv", " | 0.0 1.0 2.0 | "},
		{"scatterv", "1.0 | 1.1 | 1.2"},
	} {
		s := Spec{Name: c.name, Ranks: 3, Chunks: 1}
		if kinds[c.name].rooted {
			s.Root = 1
		}
		col, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		ranks := make([]string, s.Ranks)
		for r := range ranks {
			words := make([]string, col.OutChunks(r))
			for i := range words {
				switch w := col.Want(r, i); w.Kind {
				case WantNothing:
					words[i] = "-"
				case WantInput:
					words[i] = fmt.Sprintf("%d.%d", w.Rank, w.Index)
				case WantReduction:
					words[i] = fmt.Sprintf("+%d", w.Index)
				}
			}
			ranks[r] = strings.Join(words, " ")
		}
		if got := strings.Join(ranks, " | "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if partial := strings.Contains(c.want, "-"); col.Partial() != partial {
			t.Errorf("%s: partial %v, want %v", c.name, col.Partial(), partial)
		}
		if col.Uniform() && slices.ContainsFunc(ranks, func(of string) bool { return of != ranks[0] }) {
			t.Errorf("%s: ranks want %s: they are not uniform", c.name, c.want)
		}
	}
}

// TestRefusals: what is wrong with a call, and what would be accepted.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "allsum", Ranks: 2, Chunks: 1}, `unknown collective "allsum": want one of ` + strings.Join(Names(), ", ")},
		{Spec{Name: "allreduce", Chunks: 1}, "allreduce over 0 ranks: want at least 1"},
		{Spec{Name: "allreduce", Ranks: 2}, "allreduce of 0 chunks: want at least 1"},
		{Spec{Name: "reduce", Ranks: 2, Chunks: 1, Root: 2}, "reduce with root 2: want 0 to 1"},
		{Spec{Name: "reduce", Ranks: 2, Chunks: 1, Root: -1}, "reduce with root -1: want 0 to 1"},
		{Spec{Name: "allreduce", Ranks: 2, Chunks: 1, Root: 1}, "allreduce has no root"},
		{Spec{Name: "alltoall", Ranks: 2, Chunks: 1, InPlace: true}, "alltoall has no in-place form"},
	} {
		if _, err := New(c.spec); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.spec, err, c.want)
		}
	}
	for _, s := range []Spec{{Name: "allreduce", Ranks: 1, Chunks: 1}, {Name: "reduce", Ranks: 2, Chunks: 1, Root: 1}} {
		if _, err := New(s); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
