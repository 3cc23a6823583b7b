package compiler

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// A rank copies its input to its output, adds what another sends, and sends the sum back
// through scratch. Both copies go; the sum takes its operand from the input.
func TestEliminateCopies(t *testing.T) {
	span := func(rank int32, buffer collective.Buffer) lang.Span {
		return lang.Span{Rank: rank, Buf: buffer, Count: 1, Stride: 1}
	}
	in, out, scratch := collective.In, collective.Out, collective.Scratch
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &lang.Program{Collective: c, Scopes: []lang.Scope{{Factor: 1}}, Scratch: []int{1, 0}}
	for _, op := range []lang.Op{
		{Kind: lang.Copy, Src: span(1, in), Dst: span(1, out)},
		{Kind: lang.Reduce, Src: span(0, in), Dst: span(1, out), Channel: 3},
		{Kind: lang.Copy, Src: span(1, out), Dst: span(0, scratch), Channel: -1},
		{Kind: lang.Copy, Src: span(0, scratch), Dst: span(0, out)},
	} {
		p.Add(op, lang.Pos{})
	}
	want := []Operation{
		{lang.Reduce, span(0, in), span(1, out), span(1, in), 3, 0},
		{lang.Copy, span(1, out), span(0, out), span(0, out), -1, 0},
	}
	if got, err := EliminateCopies(p); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	p.Ops[1].Src.Index = 1
	if got, err := EliminateCopies(p); err == nil {
		t.Errorf("%+v of chunks that are not there", got)
	}
}
