package constraints_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/formulatest"
)

func TestConstraintsMeanWhatTheySay(t *testing.T) {
	f := func(state func(f *constraints.Formula, a, b, c constraints.Lit)) *constraints.Formula {
		f := constraints.NewFormula("test")
		state(f, f.Bool("a"), f.Bool("b"), f.Bool("c"))
		return f
	}
	n := func(m []bool) (n int) {
		for _, v := range m[:3] {
			if v {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name string
		f    *constraints.Formula
		want func(m []bool) bool
	}{
		{"nothing", f(func(*constraints.Formula, constraints.Lit, constraints.Lit, constraints.Lit) {}), func([]bool) bool { return true }},
		{"clause", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Clause(a, b.Not()) }), func(m []bool) bool { return m[0] || !m[1] }},
		{"empty clause", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Clause() }), func([]bool) bool { return false }},
		{"clause with true", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Clause(a, constraints.True) }), func([]bool) bool { return true }},
		{"clause with false", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Clause(a, constraints.False) }), func(m []bool) bool { return m[0] }},
		{"implies", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Implies([]constraints.Lit{a, b}, c) }), func(m []bool) bool { return !m[0] || !m[1] || m[2] }},
		{"implies nothing", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Implies([]constraints.Lit{a, b}) }), func(m []bool) bool { return !m[0] || !m[1] }},
		{"at most", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.AtMost(1, a, b, c) }), func(m []bool) bool { return n(m) <= 1 }},
		{"at least", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.AtLeast(2, a, b, c) }), func(m []bool) bool { return n(m) >= 2 }},
		{"exactly", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Exactly(2, a, b, c) }), func(m []bool) bool { return n(m) == 2 }},
		{"twice the same", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.AtMost(1, a, a, b) }), func(m []bool) bool { return !m[0] }},
		{"a literal and its negation", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.Exactly(1, a, a.Not()) }), func([]bool) bool { return true }},
		{"sum", f(func(f *constraints.Formula, a, b, c constraints.Lit) {
			f.SumAtLeast(1, constraints.Term{3, a}, constraints.Term{-2, b}, constraints.Term{-1, c.Not()})
		}),
			func(m []bool) bool { return 3*bit(m[0])-2*bit(m[1])-1+bit(m[2]) >= 1 }},
		{"sum at most, with constants", f(func(f *constraints.Formula, a, b, c constraints.Lit) {
			f.SumAtMost(4, constraints.Term{3, a}, constraints.Term{2, b}, constraints.Term{2, constraints.True}, constraints.Term{9, constraints.False})
		}),
			func(m []bool) bool { return 3*bit(m[0])+2*bit(m[1])+2 <= 4 }},
		{"sum exactly", f(func(f *constraints.Formula, a, b, c constraints.Lit) {
			f.SumExactly(2, constraints.Term{2, a}, constraints.Term{1, b}, constraints.Term{1, c})
		}),
			func(m []bool) bool { return 2*bit(m[0])+bit(m[1])+bit(m[2]) == 2 }},
		{"far bounds", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.AtMost(1<<40, a); f.AtLeast(-1<<40, b) }), func([]bool) bool { return true }},
		{"farther than reached", f(func(f *constraints.Formula, a, b, c constraints.Lit) { f.AtLeast(1<<40, a) }), func([]bool) bool { return false }},
	} {
		if c.f.Err() != nil {
			t.Fatal(c.name, c.f.Err())
		}
		formulatest.Models(3, func(m []bool) {
			if err := c.f.Check(m); (err == nil) != c.want(m) {
				t.Errorf("%s with %v: %v", c.name, m, err)
			}
		})
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAndIsTheLiteralThatItSays(t *testing.T) {
	f := constraints.NewFormula("reified")
	a, b := f.Bool(""), f.Bool("")
	and := f.And(a, b.Not())
	count := 0
	formulatest.Models(f.Variables(), func(m []bool) {
		if f.Check(m) != nil {
			return
		}
		count++
		if and.Holds(m) != (m[0] && !m[1]) {
			t.Errorf("model %v", m)
		}
	})
	if count != 4 {
		t.Errorf("%d models: want one for each value of a and b", count)
	}
}

func TestIntegers(t *testing.T) {
	f := constraints.NewFormula("integers")
	x := f.Int(2, 5)
	if x.AtLeast(2) != constraints.True || x.AtLeast(6) != constraints.False {
		t.Error("values out of the domain are not constants")
	}
	seen := map[int]bool{}
	formulatest.Models(f.Variables(), func(m []bool) {
		if f.Check(m) != nil {
			return
		}
		v := x.Value(m)
		seen[v] = true
		for k := 2; k <= 6; k++ {
			if x.AtLeast(k).Holds(m) != (v >= k) {
				t.Errorf("x is %d: the literal for at least %d says otherwise", v, k)
			}
		}
	})
	if len(seen) != 4 || !seen[2] || !seen[5] {
		t.Errorf("possible values %v, want 2 to 5", seen)
	}
	sum := 0
	for _, term := range x.Terms(7) {
		sum += term.Weight
	}
	if sum != 7*3 {
		t.Errorf("x weighs %d above its lowest value", sum)
	}
}

func TestMistakesAreKept(t *testing.T) {
	for _, c := range []struct {
		state func(*constraints.Formula)
		want  string
	}{
		{func(f *constraints.Formula) { f.Clause(7) }, "literal 7: want 1 to 1"},
		{func(f *constraints.Formula) { f.Clause(0) }, "literal 0"},
		{func(f *constraints.Formula) { f.SumAtLeast(1, constraints.Term{1 << 40, 1}) }, "weight"},
		{func(f *constraints.Formula) { f.SumAtLeast(1, constraints.Term{1 << 30, 1}, constraints.Term{1, 1}) }, "add up"},
		{func(f *constraints.Formula) { f.Int(3, 2) }, "integer from 3 to 2"},
		{func(f *constraints.Formula) { f.Int(0, 1<<20) }, "integer from 0"},
		{func(f *constraints.Formula) { f.Prefer(3) }, "preferred literal 3"},
		{func(f *constraints.Formula) { f.Prefer(constraints.True) }, "preferred literal"},
	} {
		f := constraints.NewFormula("broken")
		f.Bool("")
		c.state(f)
		f.Clause(9) // a second mistake: the first counts
		if f.Err() == nil || !strings.Contains(f.Err().Error(), c.want) || !strings.Contains(f.Err().Error(), "broken") {
			t.Errorf("got %v, want %q", f.Err(), c.want)
		}
		if err := f.Check(make([]bool, f.Variables())); !errors.Is(err, f.Err()) {
			t.Errorf("checked all the same: %v", err)
		}
	}
}

func TestModelErrorsShowTheConstraint(t *testing.T) {
	f := constraints.NewFormula("doors")
	var doors []constraints.Lit
	for range 20 {
		doors = append(doors, f.Bool(""))
	}
	f.Clause(f.Bool("open"), doors[0].Not())
	f.AtLeast(3, doors...)
	err := f.Check(append([]bool{true, true}, make([]bool, 19)...))
	var m *constraints.ModelError
	if !errors.As(err, &m) || m.Row != 0 || m.Detail != "constraint 0 asks open + not x1 >= 1; the sum is 0" {
		t.Errorf("got %v", err)
	}
	err = f.Check(append(make([]bool, 20), true))
	if !errors.As(err, &m) || m.Row != 1 || !strings.Contains(m.Detail, "… 8 more >= 3") {
		t.Errorf("got %v", err)
	}
	if err := f.Check(nil); !errors.As(err, &m) || m.Row != -1 {
		t.Errorf("a model too short: %v", err)
	}
}

func TestDumps(t *testing.T) {
	f := constraints.NewFormula("two\nlines")
	a, b, c := f.Bool("a"), f.Bool("a"), f.Bool("odd|name")
	f.Clause(a, b.Not())
	f.Clause(c)
	f.SumAtMost(3, constraints.Term{2, a}, constraints.Term{2, b}, constraints.Term{1, c.Not()})
	f.AtMost(1, a, b)
	var smt, opb strings.Builder
	if err := errors.Join(f.WriteSMT2(&smt), f.WriteOPB(&opb)); err != nil {
		t.Fatal(err)
	}
	if want := `; two lines
(set-logic QF_LIA)
(declare-const |a| Bool)
(declare-const |x2| Bool)
(declare-const |x3| Bool)
(assert (or |a| (not |x2|)))
(assert |x3|)
(assert (>= (+ (ite (not |a|) 2 0) (ite (not |x2|) 2 0) (ite |x3| 1 0) 0) 2))
(assert (or (not |a|) (not |x2|)))
(check-sat)
(get-model)
`; smt.String() != want {
		t.Errorf("SMT-LIB:\n%s", smt.String())
	}
	if want := `* #variable= 3 #constraint= 4
* two lines
* x1 is a
* x2 is a
* x3 is odd|name
+1 x1 -1 x2 >= 0 ;
+1 x3 >= 1 ;
-2 x1 -2 x2 +1 x3 >= -2 ;
-1 x1 -1 x2 >= -1 ;
`; opb.String() != want {
		t.Errorf("OPB:\n%s", opb.String())
	}
	f.Clause(9)
	if f.WriteSMT2(&smt) == nil || f.WriteOPB(&opb) == nil {
		t.Error("a broken formula was written")
	}
}
