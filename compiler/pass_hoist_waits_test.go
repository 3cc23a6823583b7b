package compiler

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// allPairsTraced returns an all-pairs AllReduce as section 7.1.2 of GC3 tells
// it: every rank gathers its chunk of all ranks, reduces them, and sends the
// sum to all.
func allPairsTraced(t *testing.T, ranks int) *lang.Program {
	t.Helper()
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks, InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	trace := lang.NewTrace("all-pairs", c)
	must := func(r *lang.Ref, err error) *lang.Ref {
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for r := range ranks {
		for d := 1; d < ranks; d++ {
			must(must(trace.Chunk((r+d)%ranks, collective.In, r, 1, 1)).Copy(r, collective.Scratch, d-1, -1))
		}
	}
	for r := range ranks {
		sum := must(trace.Chunk(r, collective.In, r, 1, 1))
		for d := 1; d < ranks; d++ {
			sum = must(sum.Reduce(must(trace.Chunk(r, collective.Scratch, d-1, 1, 1)), -1))
		}
		for d := 1; d < ranks; d++ {
			must(sum.Copy((r+d)%ranks, collective.In, r, -1))
		}
	}
	p, err := trace.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReductionsRunAsOne: the reductions into one chunk are consecutive steps of
// one threadblock, of which the first alone waits.
func TestReductionsRunAsOne(t *testing.T) {
	const ranks = 5
	compile := func(disable ...string) *ir.Program {
		r, err := Compile(allPairsTraced(t, ranks), Options{Disable: disable})
		if err != nil {
			t.Fatal(err)
		}
		return r.Program
	}
	runs := func(p *ir.Program) (first, later int) {
		for _, g := range p.GPUs {
			for _, tb := range g.Threadblocks {
				for i, s := range tb.Steps {
					switch {
					case s.Op != ir.Reduce || len(s.Deps) == 0:
					case i > 0 && tb.Steps[i-1].Op == ir.Reduce:
						later++
					default:
						first++
					}
				}
			}
		}
		return first, later
	}
	if first, later := runs(compile()); first != ranks || later != 0 {
		t.Errorf("%d first reductions of a run wait and %d later ones, want %d and 0", first, later, ranks)
	}
	if _, later := runs(compile("hoist waits")); later != ranks*(ranks-2) {
		t.Errorf("without the pass %d later reductions wait, want %d", later, ranks*(ranks-2))
	}
}
