package synth

import (
	"context"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// sumsOf returns the problem of an allreduce with the given chunks, steps and rounds.
func sumsOf(t interface{ Fatal(...any) }, top *topologies.Topology, chunks, steps, rounds int) *problem {
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: len(top.Ranks), Chunks: chunks, InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(context.Background(), Query{Topology: top, Collective: c, Steps: steps, Rounds: rounds})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestSingleChunkInfeasible finds the steps in which no allreduce of a chunk exists
// although distances allow it, as no rank may be counted twice.
func TestSingleChunkInfeasible(t *testing.T) {
	s := open(t, "pb")
	for _, w := range []struct {
		topology string
		steps    int
		none     bool
	}{{"ring:5", 2, true}, {"ring:5", 3, false}, {"ring:4", 2, false}, {"fullmesh:4", 1, false}, {"dgx-1", 2, false}, {"dgx-1", 1, true}} {
		p := sumsOf(t, resolve(t, w.topology, 0), 1, w.steps, w.steps)
		got, err := p.singleChunkInfeasible(context.Background(), s, solveBudget{}, w.steps)
		if err != nil {
			t.Fatal(err)
		}
		if (got != nil) != w.none {
			t.Errorf("%s in %d steps: %+v, and that there is none is %v", w.topology, w.steps, got, w.none)
		}
		// The full query of one chunk, with rounds to spare, agrees.
		p.Rounds = w.steps * 20
		a, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil || (a.Status == unsat) != w.none {
			t.Errorf("%s in %d steps of %d rounds: %v, %v", w.topology, w.steps, p.Rounds, a.Status, err)
		}
	}
}
