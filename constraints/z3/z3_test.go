package z3_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/constraints/z3"
)

func newContext(t testing.TB) *z3.Context {
	t.Helper()
	ctx, err := z3.NewContext()
	if err != nil {
		t.Skip("libz3 is not here: ", err)
	}
	t.Cleanup(ctx.Close)
	return ctx
}

func TestVersion(t *testing.T) {
	v, err := z3.Version()
	if err != nil {
		t.Skip("libz3 is not here: ", err)
	}
	if !strings.HasPrefix(strings.TrimPrefix(v, "Z3 "), "4.") {
		t.Errorf("version %q", v)
	}
}

func bools(ctx *z3.Context, n int) []z3.AST {
	out := make([]z3.AST, n)
	for i := range out {
		out[i] = ctx.Bool(i + 1)
	}
	return out
}

// Every constraint against all values of its variables.
func TestConstraintsMeanWhatTheySay(t *testing.T) {
	ctx := newContext(t)
	x := bools(ctx, 4)
	w := []int32{3, -2, 1, 5}
	weigh := func(m int) (sum int32) {
		for i := range x {
			if m>>i&1 == 1 {
				sum += w[i]
			}
		}
		return sum
	}
	count := func(m int) (n int) {
		for i := range x {
			n += m >> i & 1
		}
		return n
	}
	for _, c := range []struct {
		name string
		term z3.AST
		want func(m int) bool
	}{
		{"or", ctx.Or(x...), func(m int) bool { return m != 0 }},
		{"or of none", ctx.Or(), func(int) bool { return false }},
		{"not", ctx.Not(x[2]), func(m int) bool { return m>>2&1 == 0 }},
		{"at least 2", ctx.AtLeast(x, 2), func(m int) bool { return count(m) >= 2 }},
		{"at least 0", ctx.AtLeast(x, 0), func(int) bool { return true }},
		{"at least -1", ctx.AtLeast(x, -1), func(int) bool { return true }},
		{"at least 5", ctx.AtLeast(x, 5), func(int) bool { return false }},
		{"at least 1 of none", ctx.AtLeast(nil, 1), func(int) bool { return false }},
		{"sum at least 3", ctx.SumAtLeast(x, w, 3), func(m int) bool { return weigh(m) >= 3 }},
		{"sum at least -1", ctx.SumAtLeast(x, w, -1), func(m int) bool { return weigh(m) >= -1 }},
	} {
		s := ctx.NewSolver()
		s.Assert(c.term)
		for m := range 16 {
			var assume []z3.AST
			for i := range x {
				if m>>i&1 == 1 {
					assume = append(assume, x[i])
				} else {
					assume = append(assume, ctx.Not(x[i]))
				}
			}
			r, err := s.Check(context.Background(), assume...)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if (r == z3.True) != c.want(m) {
				t.Errorf("%s with %04b is %v", c.name, m, r)
			}
			if r == z3.True {
				model := s.Model()
				for i := range x {
					if model.Bool(x[i]) != (m>>i&1 == 1) {
						t.Errorf("%s: model disagrees with the assumption on %d", c.name, i)
					}
				}
				model.Close()
			}
		}
	}
}

func TestScopes(t *testing.T) {
	ctx := newContext(t)
	x := bools(ctx, 5)
	s := ctx.NewSolver()
	s.Assert(ctx.Or(ctx.Not(x[1]), ctx.Not(x[3])))
	s.Push()
	s.Assert(ctx.Not(x[0]))
	if r, err := s.Check(context.Background(), x[0]); r != z3.False || err != nil {
		t.Errorf("inside the scope: %v, %v", r, err)
	}
	s.Pop()
	r, err := s.Check(context.Background(), x...)
	if r != z3.False || err != nil {
		t.Fatalf("%v, %v", r, err)
	}
	if r, err := s.Check(context.Background(), x[0], x[1]); r != z3.True || err != nil {
		t.Errorf("after the scope: %v, %v", r, err)
	}
}

// An error of the library's does not end the process, and stays with the context.
func TestErrorsAreKept(t *testing.T) {
	ctx := newContext(t)
	s := ctx.NewSolver()
	s.Pop() // of no scope
	err := ctx.Err()
	var z *z3.Error
	if !errors.As(err, &z) || z.Function != "solver_pop" || z.OutOfMemory() {
		t.Fatalf("got %v", err)
	}
	if _, again := s.Check(context.Background()); !errors.Is(again, err) || !errors.Is(ctx.Err(), err) {
		t.Errorf("the first error did not stay: %v", again)
	}
	for name, use := range map[string]func(*z3.Context, *z3.Solver){
		"not":    func(c *z3.Context, _ *z3.Solver) { c.Not(z3.AST{}) },
		"or":     func(c *z3.Context, _ *z3.Solver) { c.Or(c.Bool(1), z3.AST{}) },
		"assert": func(_ *z3.Context, s *z3.Solver) { s.Assert(z3.AST{}) },
		"sum":    func(c *z3.Context, _ *z3.Solver) { c.SumAtLeast([]z3.AST{c.Bool(1)}, nil, 1) },
		"closed": func(c *z3.Context, _ *z3.Solver) { c.Close(); c.Bool(1) },
	} {
		c := newContext(t)
		use(c, c.NewSolver())
		if c.Err() == nil {
			t.Errorf("%s of nothing is no error", name)
		}
	}
}

// pigeons asks for n+1 pigeons in n holes: short to say, long to refute.
func pigeons(ctx *z3.Context, s *z3.Solver, n int) {
	in := func(p, h int) z3.AST { return ctx.Bool(p*n + h + 1) }
	for p := range n + 1 {
		var holes []z3.AST
		for h := range n {
			holes = append(holes, in(p, h))
		}
		s.Assert(ctx.Or(holes...))
	}
	for h := range n {
		for p := range n + 1 {
			for q := range p {
				s.Assert(ctx.Or(ctx.Not(in(p, h)), ctx.Not(in(q, h))))
			}
		}
	}
}

func TestInterrupt(t *testing.T) {
	ctx := newContext(t)
	s := ctx.NewSolver()
	pigeons(ctx, s, 12)
	limit, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if r, err := s.Check(limit); r != z3.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v, %v", r, err)
	}
	if r, err := s.Check(limit); r != z3.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("begun too late: %v, %v", r, err)
	}
}

// A SIGINT during a check is handled by Go, every time.
func TestCtrlC(t *testing.T) {
	ctx := newContext(t)
	s := ctx.NewSolver()
	pigeons(ctx, s, 12)
	got := make(chan os.Signal, 1)
	signal.Notify(got, os.Interrupt)
	defer signal.Stop(got)
	for range 2 { // what kills the process is the second, where Z3 took the first
		limit, cancel := context.WithCancel(context.Background())
		go func() {
			time.Sleep(20 * time.Millisecond)
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			<-got
			cancel()
		}()
		if _, err := s.Check(limit); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
	}
}

func TestSameTermsSameModel(t *testing.T) {
	var first []bool
	for range 3 {
		ctx := newContext(t)
		x := bools(ctx, 40)
		s := ctx.NewSolver()
		for i := 0; i+5 <= len(x); i += 3 {
			s.Assert(ctx.AtLeast(x[i:i+5], 2))
			s.Assert(ctx.Or(ctx.Not(x[i]), ctx.Not(x[i+4])))
		}
		if r, err := s.Check(context.Background()); r != z3.True {
			t.Fatal(r, err)
		}
		m := s.Model()
		var values []bool
		for _, a := range x {
			values = append(values, m.Bool(a))
		}
		m.Close()
		if first == nil {
			first = values
		}
		for i := range values {
			if values[i] != first[i] {
				t.Fatalf("variable %d differs", i)
			}
		}
	}
}

func BenchmarkClause(b *testing.B) {
	ctx := newContext(b)
	s := ctx.NewSolver()
	x := bools(ctx, 100)
	for b.Loop() {
		s.Assert(ctx.Or(x[1], ctx.Not(x[7]), x[50]))
	}
}

// A limit of work ends a check at the same place every time, and a higher one gives an
// answer.
func TestLimit(t *testing.T) {
	check := func(work uint32) (z3.Result, uint32, error) {
		ctx := newContext(t)
		s := ctx.NewSolver()
		const holes = 6
		at := func(p, h int) z3.AST { return ctx.Bool(p*holes + h) }
		for p := range holes + 1 {
			var row []z3.AST
			for h := range holes {
				row = append(row, at(p, h))
			}
			s.Assert(ctx.Or(row...))
		}
		for h := range holes {
			for p := range holes + 1 {
				for q := range p {
					s.Assert(ctx.Or(ctx.Not(at(p, h)), ctx.Not(at(q, h))))
				}
			}
		}
		s.LimitWork(work)
		before := s.Work()
		r, err := s.Check(context.Background())
		return r, s.Work() - before, err
	}
	r, whole, err := check(0)
	if err != nil || r != z3.False || whole < 1000 {
		t.Fatalf("%v after %d, %v", r, whole, err)
	}
	for _, work := range []uint32{1, whole / 10, whole / 2} {
		r, done, err := check(work)
		_, again, _ := check(work)
		if r != z3.Unknown || !errors.Is(err, z3.ErrWork) || done != again || done < work {
			t.Errorf("within %d of %d: %v after %d, then %d, %v", work, whole, r, done, again, err)
		}
	}
	if r, done, err := check(2 * whole); err != nil || r != z3.False || done != whole {
		t.Errorf("with work to spare: %v after %d of %d, %v", r, done, whole, err)
	}
}
