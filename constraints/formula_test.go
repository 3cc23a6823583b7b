package constraints

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// each calls yield with every assignment of n variables.
func each(n int, yield func(model []bool)) {
	model := make([]bool, n)
	for m := range 1 << n {
		for i := range model {
			model[i] = m>>i&1 == 1
		}
		yield(model)
	}
}

func TestConstraintsMeanWhatTheySay(t *testing.T) {
	f := func(state func(f *Formula, a, b, c Lit)) *Formula {
		f := NewFormula("test")
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
		f    *Formula
		want func(m []bool) bool
	}{
		{"nothing", f(func(*Formula, Lit, Lit, Lit) {}), func([]bool) bool { return true }},
		{"clause", f(func(f *Formula, a, b, c Lit) { f.Clause(a, b.Not()) }), func(m []bool) bool { return m[0] || !m[1] }},
		{"empty clause", f(func(f *Formula, a, b, c Lit) { f.Clause() }), func([]bool) bool { return false }},
		{"clause with true", f(func(f *Formula, a, b, c Lit) { f.Clause(a, True) }), func([]bool) bool { return true }},
		{"clause with false", f(func(f *Formula, a, b, c Lit) { f.Clause(a, False) }), func(m []bool) bool { return m[0] }},
		{"implies", f(func(f *Formula, a, b, c Lit) { f.Implies([]Lit{a, b}, c) }), func(m []bool) bool { return !m[0] || !m[1] || m[2] }},
		{"implies nothing", f(func(f *Formula, a, b, c Lit) { f.Implies([]Lit{a, b}) }), func(m []bool) bool { return !m[0] || !m[1] }},
		{"at most", f(func(f *Formula, a, b, c Lit) { f.AtMost(1, a, b, c) }), func(m []bool) bool { return n(m) <= 1 }},
		{"at least", f(func(f *Formula, a, b, c Lit) { f.AtLeast(2, a, b, c) }), func(m []bool) bool { return n(m) >= 2 }},
		{"exactly", f(func(f *Formula, a, b, c Lit) { f.Exactly(2, a, b, c) }), func(m []bool) bool { return n(m) == 2 }},
		{"twice the same", f(func(f *Formula, a, b, c Lit) { f.AtMost(1, a, a, b) }), func(m []bool) bool { return !m[0] }},
		{"a literal and its negation", f(func(f *Formula, a, b, c Lit) { f.Exactly(1, a, a.Not()) }), func([]bool) bool { return true }},
		{"sum", f(func(f *Formula, a, b, c Lit) { f.SumAtLeast(1, Term{3, a}, Term{-2, b}, Term{-1, c.Not()}) }),
			func(m []bool) bool { return 3*bit(m[0])-2*bit(m[1])-1+bit(m[2]) >= 1 }},
		{"sum at most, with constants", f(func(f *Formula, a, b, c Lit) { f.SumAtMost(4, Term{3, a}, Term{2, b}, Term{2, True}, Term{9, False}) }),
			func(m []bool) bool { return 3*bit(m[0])+2*bit(m[1])+2 <= 4 }},
		{"sum exactly", f(func(f *Formula, a, b, c Lit) { f.SumExactly(2, Term{2, a}, Term{1, b}, Term{1, c}) }),
			func(m []bool) bool { return 2*bit(m[0])+bit(m[1])+bit(m[2]) == 2 }},
		{"far bounds", f(func(f *Formula, a, b, c Lit) { f.AtMost(1<<40, a); f.AtLeast(-1<<40, b) }), func([]bool) bool { return true }},
		{"farther than reached", f(func(f *Formula, a, b, c Lit) { f.AtLeast(1<<40, a) }), func([]bool) bool { return false }},
	} {
		if c.f.Err() != nil {
			t.Fatal(c.name, c.f.Err())
		}
		each(3, func(m []bool) {
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

func TestAndOrAreTheLiteralsTheySay(t *testing.T) {
	f := NewFormula("reified")
	a, b := f.Bool(""), f.Bool("")
	and, or := f.And(a, b.Not()), f.Or(a, b)
	count := 0
	each(f.Variables(), func(m []bool) {
		if f.Check(m) != nil {
			return
		}
		count++
		if holds(m, and) != (m[0] && !m[1]) || holds(m, or) != (m[0] || m[1]) {
			t.Errorf("model %v", m)
		}
	})
	if count != 4 {
		t.Errorf("%d models: want one for each value of a and b", count)
	}
}

func TestIntegers(t *testing.T) {
	f := NewFormula("integers")
	x, y := f.Int("x", 2, 5), f.Int("", -1, 3)
	guard := f.Bool("guard")
	f.Less(x, y, -3, guard) // where guard: x - 3 ≤ y
	f.Equal(y, f.Int("z", 0, 2))
	is3 := f.Is(x, 3)
	if f.Is(x, 9) != False || x.AtLeast(2) != True || x.AtLeast(6) != False || x.AtMost(5) != True || x.AtMost(1) != False {
		t.Error("values out of the domain are not constants")
	}
	seen := map[[3]int]bool{}
	each(f.Variables(), func(m []bool) {
		if f.Check(m) != nil {
			return
		}
		vx, vy := x.Value(m), y.Value(m)
		seen[[3]int{vx, vy, bit(holds(m, guard))}] = true
		if holds(m, is3) != (vx == 3) || holds(m, x.AtLeast(4)) != (vx >= 4) || holds(m, y.AtMost(1)) != (vy <= 1) {
			t.Errorf("x %d, y %d: a literal says otherwise", vx, vy)
		}
	})
	for vx := 2; vx <= 5; vx++ {
		for vy := -1; vy <= 3; vy++ {
			for g := range 2 {
				want := vy >= 0 && vy <= 2 && (g == 0 || vx-3 <= vy)
				if seen[[3]int{vx, vy, g}] != want {
					t.Errorf("x %d, y %d, guard %d: possible %v", vx, vy, g, !want)
				}
			}
		}
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
		state func(*Formula)
		want  string
	}{
		{func(f *Formula) { f.Clause(7) }, "literal 7: want 1 to 1"},
		{func(f *Formula) { f.Clause(0) }, "literal 0"},
		{func(f *Formula) { f.SumAtLeast(1, Term{1 << 40, 1}) }, "weight"},
		{func(f *Formula) { f.SumAtLeast(1, Term{1 << 30, 1}, Term{1, 1}) }, "add up"},
		{func(f *Formula) { f.Int("x", 3, 2) }, "integer x from 3 to 2"},
		{func(f *Formula) { f.Int("x", 0, 1<<20) }, "integer x"},
		{func(f *Formula) { f.Prefer(3) }, "preferred literal 3"},
		{func(f *Formula) { f.Prefer(True) }, "preferred literal"},
	} {
		f := NewFormula("broken")
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
	f := NewFormula("doors")
	var doors []Lit
	for range 20 {
		doors = append(doors, f.Bool(""))
	}
	f.Clause(f.Bool("open"), doors[0].Not())
	f.AtLeast(3, doors...)
	err := f.Check(append([]bool{true, true}, make([]bool, 19)...))
	var m *ModelError
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

// randomFormula is small enough for brute force and of every kind of row.
func randomFormula(r *rand.Rand, variables int) *Formula {
	f := NewFormula("random")
	for range variables {
		f.Bool("")
	}
	literal := func() Lit {
		l := Lit(1 + r.IntN(variables))
		if r.IntN(2) == 0 {
			return l.Not()
		}
		return l
	}
	for range r.IntN(3 * variables) {
		n := 1 + r.IntN(5)
		lits := make([]Lit, n)
		terms := make([]Term, n)
		for i := range n {
			lits[i] = literal() // at times twice the same
			terms[i] = Term{r.IntN(9) - 3, lits[i]}
		}
		k := r.IntN(n + 1)
		switch r.IntN(10) {
		case 0:
			f.AtMost(k, lits...)
		case 1:
			f.AtLeast(k, lits...)
		case 2:
			f.Exactly(k, lits...)
		case 3:
			f.SumAtLeast(r.IntN(8)-2, terms...)
		case 4:
			f.SumAtMost(r.IntN(8)-2, terms...)
		case 5:
			f.SumExactly(r.IntN(6)-1, terms...)
		default:
			f.Clause(lits...)
		}
	}
	for range r.IntN(3) {
		group := make([]Lit, 1+r.IntN(4))
		for i := range group {
			group[i] = literal()
		}
		f.Prefer(group...)
	}
	return f
}

// The normal form holds where the rows as stated do.
func TestNormalFormMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f := randomFormula(r, 1+r.IntN(7))
		var rows []normalRow
		f.normal(func(n normalRow) {
			rows = append(rows, normalRow{append([]Lit(nil), n.lits...), append([]int(nil), n.weights...), n.bound})
		})
		for _, n := range rows {
			seen := map[int]bool{}
			for i, l := range n.lits {
				if seen[l.variable()] || n.weights != nil && (n.weights[i] < 1 || n.weights[i] > n.bound) {
					t.Fatalf("row %+v is not normal", n)
				}
				seen[l.variable()] = true
			}
			if n.bound < 1 {
				t.Fatalf("row %+v always holds", n)
			}
		}
		each(f.Variables(), func(m []bool) {
			ok := true
			for _, n := range rows {
				sum := 0
				for i, l := range n.lits {
					if holds(m, l) {
						if n.weights != nil {
							sum += n.weights[i]
						} else {
							sum++
						}
					}
				}
				ok = ok && sum >= n.bound
			}
			if ok != (f.Check(m) == nil) {
				t.Fatalf("model %v: normal form says %v, the formula %v", m, ok, f.Check(m))
			}
		})
	})
}

func TestDumps(t *testing.T) {
	f := NewFormula("two\nlines")
	a, b, c := f.Bool("a"), f.Bool("a"), f.Bool("odd|name")
	f.Clause(a, b.Not())
	f.Clause(c)
	f.SumAtMost(3, Term{2, a}, Term{2, b}, Term{1, c.Not()})
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
