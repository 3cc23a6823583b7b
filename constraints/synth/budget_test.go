package synth

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// byWork returns a budget of counted work, without a deadline.
func byWork(limit time.Duration) solveBudget { return solveBudget{work: &work{left: limit}} }

// A budget of work gives the same candidates on a machine four times as slow, also where
// the work ends before all are found.
func TestCandidatesOnASlowMachine(t *testing.T) {
	found := func(slow, name, topology string, work time.Duration) (all []Synthesised) {
		t.Setenv(slowMachine, slow)
		s, err := solver.Open(solver.Options{Solver: "pb", Timeout: time.Hour, Notice: func(text string) { t.Error(text) }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		top := resolve(t, topology, 0)
		c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1, InPlace: collective.DefaultInPlace(name)})
		if err != nil {
			t.Fatal(err)
		}
		if all, err = Candidates(context.Background(), s, top, c, work); err != nil {
			t.Fatal(err)
		}
		return all
	}
	counts := map[int]bool{}
	for _, w := range []struct {
		name, topology string
		work           time.Duration
	}{
		{"allgather", "dgx-1", 80 * time.Millisecond},
		{"allgather", "dgx-1", 300 * time.Millisecond},
		{"allreduce", "ring:6", 16 * time.Millisecond},
	} {
		quick, slow := found("", w.name, w.topology, w.work), found("1", w.name, w.topology, w.work)
		counts[len(quick)] = true
		same := slices.EqualFunc(quick, slow, func(a, b Synthesised) bool {
			return a.Chunks == b.Chunks && a.Steps == b.Steps && a.Rounds == b.Rounds && a.By == b.By && a.Proof == b.Proof && slices.Equal(a.Program.Ops, b.Program.Ops)
		})
		if !same {
			t.Errorf("%s on %s within %v: %d candidates, and %d by a slow solver: %+v, %+v", w.name, w.topology, w.work, len(quick), len(slow), quick, slow)
		}
	}
	if len(counts) < 2 {
		t.Errorf("always as many candidates: %v", counts)
	}
}

// A solver that its time limit ends before its work says so.
func TestTimeIsTheLastResort(t *testing.T) {
	var said []string
	s, err := solver.Open(solver.Options{Solver: "pb", Timeout: 20 * time.Millisecond, Notice: func(text string) { said = append(said, text) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := sumsOf(t, resolve(t, "dgx-1", 0), 48, 5, 14)
	a, err := byWork(time.Hour).solve(context.Background(), s, p.encode(nil, true).formula, "pb")
	if err != nil || a.Status != solver.Timeout || len(said) != 1 || !strings.Contains(said[0], "on a faster machine, it may find more") {
		t.Errorf("%+v, %v, said %q", a, err, said)
	}
}

// A formula beyond the limit on size is an answer (timeout), not an error.
func TestTooLargeToState(t *testing.T) {
	f := constraints.NewFormula("large")
	for f.Err() == nil {
		f.Bool("")
	}
	a, err := solveBudget{}.solve(context.Background(), open(t, "pb"), f, "pb")
	if err != nil || a.Status != solver.Timeout || !strings.Contains(a.Detail, "too large") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSharesOfTime: a share of a budget, and a share of that, never exceed the whole's
// time left; without time left nothing is solved.
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

// Work spent in a share counts in the whole, and no share has more than the whole has
// left.
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
