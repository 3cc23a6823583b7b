package solver

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/child"
)

// Solvers that do what none should: each is caught, named, and replaced.

// fake registers a solver whose answers are made up; it is honest in its first
// word.
func fake(name string, answer func(*child.Conn, problem) error) {
	child.Register(workerName(name), func(c *child.Conn) error {
		if err := c.Send(appendHello("fake", nil)); err != nil {
			return err
		}
		for {
			frame, err := c.Receive()
			if err != nil {
				return err
			}
			p, err := readQuestion(frame)
			if err != nil {
				return err
			}
			if err := answer(c, p); err != nil {
				return err
			}
		}
	})
}

func init() {
	fake("liar", func(c *child.Conn, p problem) error {
		return c.Send(appendAnswer(nil, reply{id: p.id, model: make([]bool, p.variables)}))
	})
	fake("short", func(c *child.Conn, p problem) error {
		return c.Send(appendAnswer(nil, reply{id: p.id, model: make([]bool, p.variables/2)}))
	})
	fake("echo", func(c *child.Conn, p problem) error { // the right answer to another question
		return c.Send(appendAnswer(nil, reply{id: p.id + 1, says: saysUnsat}))
	})
	fake("noise", func(c *child.Conn, p problem) error { return c.Send([]byte("s SATISFIABLE")) })
	fake("empty", func(c *child.Conn, p problem) error { return c.Send(nil) })
	fake("endless", func(c *child.Conn, p problem) error { return c.Send(make([]byte, 1<<20)) })
	fake("hanger", func(*child.Conn, problem) error { time.Sleep(time.Hour); return nil })
	fake("leisurely", func(c *child.Conn, p problem) error { // as on a machine so slow that its minute is over
		says := saysUnsat
		if p.limit <= time.Minute {
			says = saysTimeout
		}
		return c.Send(appendAnswer(nil, reply{id: p.id, says: says}))
	})
	fake("faint", func(*child.Conn, problem) error { os.Exit(3); return nil })
	fake("panicker", func(*child.Conn, problem) error { panic("index out of range") })
	fake("gaveup", func(c *child.Conn, p problem) error {
		return c.Send(appendAnswer(nil, reply{id: p.id, says: saysError, detail: "no idea"}))
	})
	fake("stutterer", func(c *child.Conn, p problem) error { // a right answer, twice
		a := appendAnswer(nil, reply{id: p.id, model: []bool{true, false}})
		return errors.Join(c.Send(a), c.Send(a))
	})
	child.Register(workerName("mute"), func(c *child.Conn) error { return errors.New("no licence") })
	child.Register(workerName("stranger"), func(c *child.Conn) error { return c.Send([]byte("hello")) })
}

// with is solvers of the given names, in their order. What they do wrong takes no
// time, so they have all that a busy machine takes.
func with(t *testing.T, notice func(string), names ...string) *Pool {
	s := &Pool{options: Options{Timeout: 10 * time.Minute, Notice: notice}}
	for _, n := range names {
		s.backends = append(s.backends, newBackend(n, 0))
	}
	t.Cleanup(s.Close)
	return s
}

// oneOfTwo has two models, neither of them all false.
func oneOfTwo() *constraints.Formula {
	f := constraints.NewFormula("one of two")
	f.Exactly(1, f.Bool("left"), f.Bool("right"))
	return f
}

func TestFaultsAreCaughtAndNamed(t *testing.T) {
	for _, c := range []struct {
		solver string
		fault  Fault
		detail string
	}{
		{"liar", Lied, "one of two: not a model: constraint 0 asks left + right = 1; the sum is 0"},
		{"short", Lied, "1 values for 2 variables"},
		{"echo", Garbled, "an answer to question"},
		{"noise", Garbled, "no message of this protocol"},
		{"empty", Garbled, "no message"},
		{"endless", Garbled, "frame of 1048576 bytes"},
		{"faint", Died, "exit status 3"},
		{"panicker", Died, "panic: index out of range"},
		{"gaveup", Refused, "no idea"},
		{"mute", Died, "no licence"},
		{"stranger", Garbled, "child.Dispatch"},
	} {
		t.Run(c.solver, func(t *testing.T) {
			var notices []string
			s := with(t, func(n string) { notices = append(notices, n) }, c.solver)
			for range 2 { // the second meets a new worker
				_, err := s.Solve(context.Background(), oneOfTwo())
				var fault *SolverError
				if !errors.As(err, &fault) || fault.Solver != c.solver || fault.Fault != c.fault || !strings.Contains(fault.Detail, c.detail) {
					t.Fatalf("got %v", err)
				}
			}
			// Beside an honest solver it does no harm, and is told.
			s = with(t, func(n string) { notices = append(notices, n) }, c.solver, "pb")
			a, err := s.SolveInOrder(context.Background(), oneOfTwo())
			if err != nil || a.Status != Sat || a.By != "pb" {
				t.Fatalf("beside pb: %+v, %v", a, err)
			}
			if len(notices) != 1 || !strings.Contains(notices[0], c.solver) || strings.Contains(notices[0], "\n") {
				t.Errorf("notices %q", notices)
			}
			if a, err := s.Solve(context.Background(), oneOfTwo()); err != nil || a.By != "pb" {
				t.Errorf("racing pb: %+v, %v", a, err)
			}
		})
	}
}

// An answer that is sent twice answers one question: at the next, it is a fault of the
// solver.
func TestRepeatedAnswerIsAFault(t *testing.T) {
	s := with(t, func(string) {}, "stutterer")
	for range 3 {
		if a, err := s.Solve(context.Background(), oneOfTwo()); err != nil || a.Status != Sat {
			t.Fatalf("first: %+v, %v", a, err)
		}
		_, err := s.Solve(context.Background(), oneOfTwo())
		var fault *SolverError
		if !errors.As(err, &fault) || fault.Solver != "stutterer" || fault.Fault != Garbled || !strings.Contains(fault.Detail, "an answer to question") {
			t.Fatalf("then: %v", err)
		}
	}
}

func TestAHangIsALimitThatNamesTheSolver(t *testing.T) {
	s := with(t, func(string) {}, "hanger")
	s.options.Timeout = 20 * time.Millisecond
	for range 2 {
		a, err := s.Solve(context.Background(), oneOfTwo())
		if err != nil || a.Status != Timeout || a.By != "hanger" || !strings.Contains(a.Detail, "no answer within") {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	s = with(t, func(string) {}, "hanger", "pb")
	if a, err := s.Solve(context.Background(), oneOfTwo()); err != nil || a.By != "pb" {
		t.Errorf("racing pb: %+v, %v", a, err)
	}
	// The hanger's time, and then pb's own: it grows until pb has enough of it.
	for limit := 100 * time.Millisecond; ; limit *= 4 {
		s.options.Timeout = limit
		a, err := s.SolveInOrder(context.Background(), oneOfTwo())
		if err == nil && a.Status == Sat && a.By == "pb" {
			break
		}
		if err != nil || a.Status != Timeout || limit > time.Minute {
			t.Fatalf("before pb, each within %v: %+v, %v", limit, a, err)
		}
	}
}

// A worker that a signal ends between two questions is replaced without an error.
func TestIdleWorkerKilled(t *testing.T) {
	s := with(t, func(string) {}, "pb")
	if _, err := s.Solve(context.Background(), oneOfTwo()); err != nil {
		t.Fatal(err)
	}
	for _, w := range s.backends[0].idle {
		w.Kill()
	}
	if a, err := s.Solve(context.Background(), oneOfTwo()); err != nil || a.Status != Sat {
		t.Errorf("%+v, %v", a, err)
	}
}
