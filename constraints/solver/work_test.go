package solver

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/formulatest"
	"github.com/colltune/colltune/internal/child"
)

// sluggish is how long a slow solver thinks before it begins.
const sluggish = 20 * time.Millisecond

func init() {
	for name, open := range map[string]func(int64) (opener, error){"slow-pb": openPB, "slow-z3": openZ3} {
		child.Register(workerName(name), serve(func(memory int64) (opener, error) {
			o, err := open(memory)
			make := o.engine
			o.engine = func(p *problem) (engine, error) {
				time.Sleep(sluggish)
				return make(p)
			}
			return o, err
		}))
	}
}

// A solver's results within a limit of work are the same on a slow machine, unlike those
// within a limit of time.
func TestWorkIsTheSameOnSlowMachines(t *testing.T) {
	for _, solver := range []string{"pb", "z3"} {
		t.Run(solver, func(t *testing.T) {
			open(t, Options{Solver: solver}) // skips where it can't be had
			quick, slow := with(t, nil, solver), with(t, nil, "slow-"+solver)
			settled, limited := 0, 0
			r := rand.New(rand.NewPCG(5, 6))
			formulas := []*constraints.Formula{pigeons(5), pigeons(6), pigeons(12)}
			for range 20 {
				formulas = append(formulas, formulatest.Random(r, 30))
			}
			for _, f := range formulas {
				for _, work := range []time.Duration{10 * time.Microsecond, time.Millisecond, 30 * time.Millisecond} {
					a, err := quick.SolveWithin(context.Background(), work, f)
					if err != nil {
						t.Fatal(err)
					}
					b, err := slow.SolveWithin(context.Background(), work, f)
					if err != nil || a.Status != b.Status || a.Work != b.Work || !slices.Equal(a.Model, b.Model) || !a.Counted || !b.Counted {
						t.Fatalf("%s within %v: %v after %v, and by a slow solver %v after %v, %v", f.Name, work, a.Status, a.Work, b.Status, b.Work, err)
					}
					if a.Status == Timeout {
						limited++
					} else {
						settled++
					}
				}
			}
			if settled < 20 || limited < 2 {
				t.Errorf("%d settled, %d not: too few of a kind to tell", settled, limited)
			}
		})
	}
}

// A limit of work has no clock beside it, however slow the machine, unless one was asked for.
func TestWorkHasNoClock(t *testing.T) {
	for _, asked := range []time.Duration{0, time.Minute} {
		s, err := Open(Options{Solver: "pb", Timeout: asked})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.backends = []*backend{newBackend("leisurely", 0)}
		a, err := s.SolveWithin(context.Background(), time.Second, pigeons(3))
		if err != nil || (a.Status == Unsat) != (asked == 0) || a.Counted != (asked == 0) {
			t.Errorf("with a time limit of %v: %+v, %v", asked, a, err)
		}
		if s.Timeout() != time.Minute {
			t.Errorf("%v for a query whose work is not limited, want a minute", s.Timeout())
		}
	}
}

// With more work a solver settles at least the same queries, with the same answers.
func TestMoreWorkSettlesMore(t *testing.T) {
	for _, solver := range []string{"pb", "z3"} {
		t.Run(solver, func(t *testing.T) {
			s := open(t, Options{Solver: solver})
			f := pigeons(6)
			var last Answer
			for i, work := range []time.Duration{time.Microsecond, 100 * time.Microsecond, 10 * time.Millisecond, 10 * time.Second} {
				a, err := s.SolveWithin(context.Background(), work, f)
				if err != nil || i > 0 && last.Status != Timeout && (a.Status != last.Status || a.Work != last.Work) {
					t.Fatalf("within %v: %+v, %v; with less %+v", work, a, err, last)
				}
				last = a
			}
			if last.Status != Unsat {
				t.Errorf("within 10 s of work: %v", last.Status)
			}
			if _, err := s.SolveWithin(context.Background(), 0, f); err == nil {
				t.Error("no work: no error")
			}
		})
	}
}

// An answer that a limit of time influenced is not marked as counted.
func TestTimeIsNotCounted(t *testing.T) {
	s := with(t, nil, "pb")
	s.options.Timeout = 20 * time.Millisecond
	if a, err := s.SolveWithin(context.Background(), time.Hour, pigeons(12)); err != nil || a.Status != Timeout || a.Counted {
		t.Errorf("time over before work: %+v, %v", a, err)
	}
	for _, other := range []string{"faint", "gaveup"} {
		s = with(t, func(string) {}, other, "pb")
		if a, err := s.SolveWithin(context.Background(), time.Second, pigeons(3)); err != nil || a.Status != Unsat || a.By != "pb" || a.Counted {
			t.Errorf("after %s: %+v, %v", other, a, err)
		}
	}
}

// The preferences of a question share its limit of work.
func TestPreferencesShareTheWork(t *testing.T) {
	f := constraints.NewFormula("first of many")
	var all []constraints.Lit
	for range 40 {
		all = append(all, f.Bool(""))
	}
	f.Exactly(1, all...)
	f.Prefer(all...)
	s := open(t, Options{Solver: "pb"})
	a, err := s.SolveWithin(context.Background(), time.Second, f)
	if err != nil || a.Status != Sat || !a.Model[0] || a.Work == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	for work := a.Work / 8; work > time.Microsecond; work /= 2 {
		b, err := s.SolveWithin(context.Background(), work, f)
		if err != nil || b.Status == Sat && !b.Model[0] || b.Status == Unsat {
			t.Errorf("within %v: %+v, %v", work, b, err)
		}
	}
}

// A formula whose deadline has passed has an error, and no longer grows.
func TestStatedTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := constraints.NewFormula("long").Until(ctx)
	a := f.Bool("")
	for row := range 100_000 {
		if row == 50_000 {
			cancel()
		}
		f.Clause(a, f.Bool(""))
	}
	if err := f.Err(); !errors.Is(err, context.Canceled) || !errors.Is(err, constraints.ErrDeadline) || f.Rows() > 60_000 || f.Variables() > 60_000 {
		t.Errorf("%v after %d rows of %d variables", err, f.Rows(), f.Variables())
	}
	if _, err := open(t, Options{Solver: "pb"}).Solve(context.Background(), f); !errors.Is(err, constraints.ErrDeadline) {
		t.Errorf("solved: %v", err)
	}
}
