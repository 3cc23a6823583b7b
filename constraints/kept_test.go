package constraints

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/internal/child"
)

// keep has a solver keep a formula, or skips the test where there is no libz3.
func keep(t *testing.T, f *Formula) *Kept {
	t.Helper()
	k, err := open(t, Options{Solver: "z3"}).Keep(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// assumed draws some literals to assume.
func assumed(r *rand.Rand, f *Formula) []Lit {
	var lits []Lit
	for range r.IntN(4) {
		l := Lit(1 + r.IntN(f.Variables()))
		if r.IntN(2) == 0 {
			l = -l
		}
		lits = append(lits, l)
	}
	return lits
}

// modelUnder tells by trying everything whether a formula has a model in which
// the literals hold.
func modelUnder(f *Formula, lits []Lit) (found bool) {
	each(f.Variables(), func(m []bool) {
		ok := f.Check(m) == nil
		for _, l := range lits {
			ok = ok && holds(m, l)
		}
		found = found || ok
	})
	return found
}

// A kept formula answers one question after the other as brute force does.
func TestKeptAgreesWithBruteForce(t *testing.T) {
	many := 60
	if os.Getenv("COLLTUNE_LONG") != "" {
		many = 2000
	}
	r := rand.New(rand.NewPCG(9, 9))
	statuses := map[Status]int{}
	s := open(t, Options{Solver: "z3"})
	for range many {
		f := randomFormula(r, 1+r.IntN(9))
		f.prefer = nil
		k, err := s.Keep(f)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			lits := assumed(r, f)
			a, err := k.Ask(context.Background(), time.Minute, lits...)
			if err != nil {
				t.Fatal(err)
			}
			statuses[a.Status]++
			if want := modelUnder(f, lits); (a.Status == Sat) != want {
				t.Fatalf("assuming %v: %v, and that there is a model is %v", lits, a.Status, want)
			}
		}
		k.Close()
	}
	if statuses[Sat] < many || statuses[Unsat] < many {
		t.Errorf("%v of %d questions: too few of a kind to tell", statuses, 8*many)
	}
}

// The embedded solver keeps nothing, and says so to whoever asks it to.
func TestTheEmbeddedSolverKeepsNothing(t *testing.T) {
	s := open(t, Options{Solver: "pb"})
	if k, err := s.Keep(oneOfTwo()); k != nil || err != nil {
		t.Fatalf("%v, %v", k, err)
	}
	_, err := s.backends[0].keep(s, oneOfTwo()).Ask(context.Background(), time.Minute)
	var fault *SolverError
	if !errors.As(err, &fault) || fault.Fault != Refused || !strings.Contains(fault.Detail, "keeps no formulas") {
		t.Errorf("%v", err)
	}
}

func TestWhatCannotBeKept(t *testing.T) {
	s := open(t, Options{Solver: "pb"})
	prefers := oneOfTwo()
	prefers.Prefer(1)
	if _, err := s.Keep(prefers); err == nil || !strings.Contains(err.Error(), "preferences") {
		t.Errorf("preferences: %v", err)
	}
	broken := oneOfTwo()
	broken.Clause(99)
	if _, err := s.Keep(broken); err == nil {
		t.Error("a broken formula was kept")
	}
	f := oneOfTwo()
	k := s.backends[0].keep(s, f)
	if _, err := k.Ask(context.Background(), time.Minute, 3); err == nil || !strings.Contains(err.Error(), "want 1 to 2") {
		t.Errorf("a literal that is not there: %v", err)
	}
	if a, err := k.Ask(context.Background(), time.Minute, False); err != nil || a.Status != Unsat {
		t.Errorf("False assumed: %+v, %v", a, err)
	}
	f.Bool("late")
	if _, err := k.Ask(context.Background(), time.Minute); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a formula that has changed: %v", err)
	}
}

// answersOf is a fake that keeps a formula honestly, by trying everything, and
// does something else at some question.
func answersOf(strange func(c *child.Conn, p problem, asked int) (done bool, err error)) func(*child.Conn, problem) error {
	asked := 0
	var held problem
	return func(c *child.Conn, p problem) error {
		asked++
		if done, err := strange(c, p, asked); done || err != nil {
			return err
		}
		if p.known && (held.rows == nil || p.keep != held.keep) {
			return c.Send(appendAnswer(nil, reply{id: p.id, says: saysError, detail: "no such formula"}))
		}
		if !p.known {
			held = p
		}
		a := reply{id: p.id, says: saysUnsat}
		each(p.variables, func(m []bool) {
			for _, row := range held.rows {
				sum := 0
				for i, l := range row.lits {
					if weight := 1; holds(m, l) {
						if row.weights != nil {
							weight = row.weights[i]
						}
						sum += weight
					}
				}
				if sum < row.bound {
					return
				}
			}
			for _, l := range p.assume {
				if !holds(m, l) {
					return
				}
			}
			a.says, a.model = saysSat, append([]bool(nil), m...)
		})
		return c.Send(appendAnswer(nil, a))
	}
}

func init() {
	nothing := func(*child.Conn, problem, int) (bool, error) { return false, nil }
	fake("keeper", answersOf(nothing))
	fake("mortal", answersOf(func(_ *child.Conn, _ problem, asked int) (bool, error) {
		if asked == 3 {
			os.Exit(4)
		}
		return false, nil
	}))
	fake("sleeper", answersOf(func(_ *child.Conn, _ problem, asked int) (bool, error) {
		if asked == 3 {
			time.Sleep(time.Hour)
		}
		return false, nil
	}))
	fake("forgetful", answersOf(func(c *child.Conn, p problem, asked int) (bool, error) {
		if asked == 3 {
			return true, c.Send(appendAnswer(nil, reply{id: p.id, says: saysError, detail: "what formula?"}))
		}
		return false, nil
	}))
	fake("stubborn", func(c *child.Conn, p problem) error { // whatever is assumed, the first model
		return c.Send(appendAnswer(nil, reply{id: p.id, model: []bool{true, false}}))
	})
}

// A solver that fails in the middle is replaced, and the next one told the
// formula: its answers are right again.
func TestKeptOutlivesItsSolver(t *testing.T) {
	for _, c := range []struct {
		solver string
		fault  Fault // "": a limit
	}{{"keeper", ""}, {"mortal", Died}, {"sleeper", ""}, {"forgetful", Refused}} {
		t.Run(c.solver, func(t *testing.T) {
			s := with(t, func(string) {}, c.solver)
			f := oneOfTwo()
			k := s.backends[0].keep(s, f)
			for i := range 12 {
				lits := []Lit{Lit(1 + i%2), Lit(2 - i%2).Not()}
				if i%4 > 1 {
					lits[1] = -lits[1] // both: there is none
				}
				limit := time.Minute
				if c.solver == "sleeper" && i%3 == 2 {
					limit = 20 * time.Millisecond
				}
				a, err := k.Ask(context.Background(), limit, lits...)
				if i%3 == 2 && c.solver != "keeper" {
					var fault *SolverError
					switch {
					case c.fault == "":
						if err != nil || a.Status != Timeout || a.By != c.solver {
							t.Fatalf("question %d: %+v, %v", i, a, err)
						}
					case !errors.As(err, &fault) || fault.Fault != c.fault || fault.Solver != c.solver:
						t.Fatalf("question %d: %v", i, err)
					}
					continue
				}
				if want := i%4 <= 1; err != nil || (a.Status == Sat) != want || a.Status == Timeout {
					t.Fatalf("question %d: %+v, %v", i, a, err)
				}
			}
		})
	}
}

// The faults of solvers that keep nothing are caught where they are to.
func TestKeptFaultsAreCaughtAndNamed(t *testing.T) {
	for solver, want := range map[string]Fault{"liar": Lied, "short": Lied, "echo": Garbled, "noise": Garbled, "empty": Garbled,
		"endless": Garbled, "faint": Died, "panicker": Died, "gaveup": Refused, "mute": Died, "stranger": Garbled} {
		s := with(t, func(string) {}, solver)
		k := s.backends[0].keep(s, oneOfTwo())
		for range 2 {
			_, err := k.Ask(context.Background(), 10*time.Minute)
			var fault *SolverError
			if !errors.As(err, &fault) || fault.Solver != solver || fault.Fault != want {
				t.Errorf("%s: %v", solver, err)
			}
		}
	}
	s := with(t, func(string) {}, "stubborn")
	k := s.backends[0].keep(s, oneOfTwo())
	if a, err := k.Ask(context.Background(), time.Minute, 1); err != nil || a.Status != Sat {
		t.Errorf("%+v, %v", a, err)
	}
	_, err := k.Ask(context.Background(), time.Minute, 2)
	var fault *SolverError
	if !errors.As(err, &fault) || fault.Fault != Lied || !strings.Contains(fault.Detail, "right was to be assumed") {
		t.Errorf("a model without what was assumed: %v", err)
	}
}

// A claim that another solver denies is told.
func TestDeny(t *testing.T) {
	var notices []string
	s := with(t, func(n string) { notices = append(notices, n) }, "keeper")
	k := s.backends[0].keep(s, oneOfTwo())
	if _, err := k.Ask(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	k.Deny("one of two", "pb")
	if len(notices) != 1 || !strings.Contains(notices[0], "solver keeper refuted what has a model") || k.worker != nil {
		t.Errorf("%q", notices)
	}
	if a, err := k.Ask(context.Background(), time.Minute); err != nil || a.Status != Sat {
		t.Errorf("after it: %+v, %v", a, err)
	}
}

// Limits, cancelling and the memory cap are as where nothing is kept.
func TestKeptLimits(t *testing.T) {
	hard := pigeons(12)
	free := hard.Bool("free")
	k := keep(t, hard)
	if a, err := k.Ask(context.Background(), 100*time.Millisecond, free); err != nil || a.Status != Timeout {
		t.Fatalf("%+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := k.Ask(ctx, time.Hour, free); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if a, err := k.Ask(context.Background(), time.Minute, 1, 2, Lit(1).Not()); err != nil || a.Status != Unsat {
		t.Errorf("after both: %+v, %v", a, err)
	}
}
