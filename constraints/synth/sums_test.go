package synth

import (
	"context"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/topologies"
)

// sumsOf is an allreduce of so many chunks in so many steps and rounds.
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

// TestHopeless has the steps in which sums can't be had though distances allow
// it: nobody may be counted twice.
func TestHopeless(t *testing.T) {
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
		// It is what the question of a chunk with all rounds there are comes to.
		p.Rounds = w.steps * 20
		a, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil || (a.Status == unsat) != w.none {
			t.Errorf("%s in %d steps of %d rounds: %v, %v", w.topology, w.steps, p.Rounds, a.Status, err)
		}
	}
}

// TestSharesOfTime has what is asked of solvers keep to the time of the whole.
func TestSharesOfTime(t *testing.T) {
	budget := solveBudget{}.within(time.Hour)
	if part := budget.share(1, 4); part.left() > 15*time.Minute || part.within(time.Hour).left() > 15*time.Minute {
		t.Errorf("%v of an hour, %v of that", part.left(), part.within(time.Hour).left())
	}
	s := open(t, "pb")
	f := constraints.NewFormula("late")
	for _, preferred := range []string{"pb", "z3"} {
		a, err := budget.within(0).solve(context.Background(), s, f, preferred)
		if err != nil || a.Status != solver.Timeout || a.Detail == "" || a.By != "pb" {
			t.Errorf("with no time left: %+v, %v", a, err)
		}
	}
	if a, err := budget.solve(context.Background(), s, f, "z3"); err != nil || a.Status != sat || a.By != "pb" {
		t.Errorf("by a solver that is not in use: %+v, %v", a, err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (solveBudget{}).within(0).solve(gone, s, f, "pb"); err == nil {
		t.Error("no error where the context is over")
	}
}

// Work done in a part counts in the whole, and no part has more than is left there.
func TestPartsOfWork(t *testing.T) {
	whole := byWork(time.Hour)
	half := whole.share(1, 2)
	quarter := half.share(1, 2)
	quarter.spend(10 * time.Minute)
	if whole.left() != 50*time.Minute || half.left() != 20*time.Minute || quarter.left() != 5*time.Minute {
		t.Errorf("%v, %v and %v are left of an hour, its half and its quarter, after 10 minutes", whole.left(), half.left(), quarter.left())
	}
	whole.spend(48 * time.Minute)
	if quarter.left() != 2*time.Minute {
		t.Errorf("%v of a quarter are left, of 2 minutes of the whole", quarter.left())
	}
}
