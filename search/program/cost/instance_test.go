package cost

import (
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies/topotest"
)

// Local reductions into one place run as one, up to maxBatched, until another operation
// writes there.
func TestBatchedReductions(t *testing.T) {
	span := func(rank, index int32) lang.Span { return lang.Span{Rank: rank, Index: index, Count: 1, Stride: 1} }
	add := func(src, dst lang.Span) compiler.Operation {
		return compiler.Operation{Kind: lang.Reduce, Src: src, Dst: dst, Operand: dst}
	}
	var ops []compiler.Operation
	for i := range int32(18) {
		ops = append(ops, add(span(0, 10+i), span(0, 0)))
	}
	ops = append(ops,
		add(span(0, 40), span(0, 1)), // another place
		add(span(0, 41), span(0, 0)),
		add(span(1, 0), span(0, 0)), // from another rank
		add(span(0, 42), span(0, 0)),
		add(span(0, 43), span(0, 0)),
	)
	first := map[int]bool{0: true, 16: true, 18: true, 20: true, 21: true}
	for i, batched := range batchedReductions(ops) {
		if batched == first[i] {
			t.Errorf("operation %d is batched: %v", i, batched)
		}
	}
}

// A program that the compiler refuses has an estimate, by which it is ranked first.
func TestCostOfRefusedProgram(t *testing.T) {
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 8, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := &lang.Program{Collective: c, Scopes: []lang.Scope{{Factor: 1}}}
	p.Add(lang.Op{Src: lang.Span{Rank: 8, Count: 1, Stride: 1}, Dst: lang.Span{Count: 1, Stride: 1}}, lang.Pos{})
	system := topotest.Resolve(t, "dgx-a100", 1)
	proto := &system.Protocols[0]
	if us := Summarize(p, system).Estimate(proto, 1<<20, 1); us != float64(proto.Launch) {
		t.Errorf("%v us, want the launch's %v", us, proto.Launch)
	}
}
