package solver

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/formulatest"
	"github.com/colltune/colltune/constraints/z3"
)

// open opens a solver by name, or skips the test where it is libz3 and missing.
func open(t testing.TB, o Options) *Pool {
	t.Helper()
	s, err := Open(o)
	if err != nil && o.Solver == "z3" {
		t.Skip("libz3 is not here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pigeons is n+1 pigeons in n holes: short to say, long to refute.
func pigeons(n int) *constraints.Formula {
	f := constraints.NewFormula("pigeons")
	in := make([][]constraints.Lit, n+1)
	for p := range in {
		in[p] = make([]constraints.Lit, n)
		for h := range in[p] {
			in[p][h] = f.Bool("")
		}
		f.Clause(in[p]...)
	}
	for h := range n {
		for p := range in {
			for q := range p {
				f.Clause(in[p][h].Not(), in[q][h].Not())
			}
		}
	}
	return f
}

// bruteForce is the model the preferences ask for, or nil.
func bruteForce(f *constraints.Formula) (best []bool) {
	var rank []int
	formulatest.Models(f.Variables(), func(m []bool) {
		if f.Check(m) != nil {
			return
		}
		var r []int
		for _, group := range f.Preferences() {
			r = append(r, firstHeld(m, group))
		}
		if best == nil || slices.Compare(r, rank) < 0 {
			best, rank = slices.Clone(m), r
		}
	})
	return best
}

// Both solvers agree with brute force, on the status and on the preferences.
func TestSolversAgreeWithBruteForce(t *testing.T) {
	many := 300
	if os.Getenv("COLLTUNE_LONG") != "" {
		many = 10_000
	}
	for _, solver := range []string{"pb", "z3"} {
		t.Run(solver, func(t *testing.T) {
			s := open(t, Options{Solver: solver})
			r := rand.New(rand.NewPCG(1, 2))
			statuses := map[Status]int{}
			for i := range many {
				f := formulatest.Random(r, 1+r.IntN(10))
				want := bruteForce(f)
				a, err := s.Solve(context.Background(), f)
				if err != nil {
					t.Fatalf("formula %d: %v", i, err)
				}
				statuses[a.Status]++
				if (a.Status == Sat) != (want != nil) || a.By != solver {
					t.Fatalf("formula %d is %v by %s; brute force found %v", i, a.Status, a.By, want)
				}
				if want == nil {
					continue
				}
				for _, group := range f.Preferences() {
					if firstHeld(a.Model, group) != firstHeld(want, group) {
						t.Fatalf("formula %d: %v and %v differ in preference %v", i, a.Model, want, group)
					}
				}
			}
			if statuses[Sat] < many/4 || statuses[Unsat] < many/20 {
				t.Errorf("of %d formulas %v: too few of a kind to tell", many, statuses)
			}
		})
	}
}

func TestAutoRacesAndTellsWhenZ3IsMissing(t *testing.T) {
	var notices []string
	s := open(t, Options{Notice: func(n string) { notices = append(notices, n) }})
	names := s.Solvers()
	if names[len(names)-1] != "pb" || len(names)+len(notices) != 2 {
		t.Errorf("solvers %v, notices %q", names, notices)
	}
	versions, err := s.Versions()
	if err != nil || len(versions) != len(names) || !strings.HasPrefix(versions[len(versions)-1], "gophersat") {
		t.Errorf("versions %q, %v", versions, err)
	}
	f := formulatest.Random(rand.New(rand.NewPCG(5, 5)), 6)
	for range 20 {
		a, err := s.Solve(context.Background(), f)
		if err != nil || !slices.Contains(names, a.By) || a.Seconds <= 0 {
			t.Fatalf("%+v, %v", a, err)
		}
		b, err := s.SolveInOrder(context.Background(), f)
		if err != nil || b.By != names[0] || b.Status != a.Status {
			t.Fatalf("%+v, %v", b, err)
		}
	}
	t.Setenv(z3.Variable, "off")
	notices = nil
	off := open(t, Options{Notice: func(n string) { notices = append(notices, n) }})
	if !slices.Equal(off.Solvers(), []string{"pb"}) || len(notices) != 1 || strings.Contains(notices[0], "\n") || !strings.Contains(notices[0], "COLLTUNE_Z3") {
		t.Errorf("switched off: solvers %v, notices %q", off.Solvers(), notices)
	}
	t.Setenv(z3.Variable, "/nowhere/libz3.so")
	notices = nil
	gone := open(t, Options{Notice: func(n string) { notices = append(notices, n) }})
	if !slices.Equal(gone.Solvers(), []string{"pb"}) || len(notices) != 1 || !strings.Contains(notices[0], "/nowhere/libz3.so") {
		t.Errorf("missing: solvers %v, notices %q", gone.Solvers(), notices)
	}
	if _, err := Open(Options{Solver: "z3"}); err == nil || !strings.Contains(err.Error(), "/nowhere/libz3.so") {
		t.Errorf("asked for by name: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Solver: "minisat"}, {Timeout: -1}, {MemoryCap: 5}} {
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A time limit ends every solver's query, and the solver works again after it.
func TestTimeout(t *testing.T) {
	hard, easy := pigeons(12), constraints.NewFormula("easy")
	easy.Clause(easy.Bool(""))
	for _, solver := range []string{"pb", "z3", "auto"} {
		t.Run(solver, func(t *testing.T) {
			s := open(t, Options{Solver: solver, Timeout: 100 * time.Millisecond})
			a, err := s.Solve(context.Background(), hard)
			if err != nil || a.Status != Timeout || a.Detail == "" || a.Model != nil {
				t.Fatalf("%+v, %v", a, err)
			}
			s.options.Timeout = time.Minute
			if a, err := s.SolveInOrder(context.Background(), easy); err != nil || a.Status != Sat {
				t.Errorf("after it: %+v, %v", a, err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	for _, solver := range []string{"pb", "z3", "auto"} {
		t.Run(solver, func(t *testing.T) {
			s := open(t, Options{Solver: solver})
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			if _, err := s.Solve(ctx, pigeons(12)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if _, err := s.SolveInOrder(ctx, pigeons(2)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Reaching the memory cap is a limit, not a fault.
func TestMemoryCap(t *testing.T) {
	big := constraints.NewFormula("big")
	vars := make([]constraints.Lit, 60_000)
	for i := range vars {
		vars[i] = big.Bool("")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 400_000 {
		big.Clause(vars[r.IntN(len(vars))], vars[r.IntN(len(vars))].Not(), vars[r.IntN(len(vars))], vars[r.IntN(len(vars))].Not())
	}
	for _, solver := range []string{"pb", "z3"} {
		t.Run(solver, func(t *testing.T) {
			s := open(t, Options{Solver: solver, MemoryCap: 64 << 20})
			a, err := s.Solve(context.Background(), big)
			if err != nil || a.Status != Timeout || !strings.Contains(a.Detail, "memory") {
				t.Errorf("%+v, %v", a.Status, err)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	s := open(t, Options{Solver: "pb"})
	s.Close()
	if _, err := s.Solve(context.Background(), constraints.NewFormula("late")); err == nil {
		t.Error("answered after Close")
	}
}

func BenchmarkSmallQuery(b *testing.B) {
	for _, solver := range []string{"pb", "z3"} {
		b.Run(solver, func(b *testing.B) {
			s := open(b, Options{Solver: solver})
			f := formulatest.Random(rand.New(rand.NewPCG(8, 8)), 10)
			for b.Loop() {
				if _, err := s.Solve(context.Background(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
