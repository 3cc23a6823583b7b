package simplex

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSolve solves programs whose answers are known.
func TestSolve(t *testing.T) {
	p := New(3, 2)
	p.Maximize(0)
	p.Maximize(1)
	for r, row := range [][3]float64{{2, 1, 4}, {1, 3, 6}, {0, 1, 0.5}} {
		p.SetCoefficient(r, 0, row[0])
		p.SetCoefficient(r, 1, row[1])
		p.SetBound(r, row[2])
	}
	// x = 7/4, y = 1/2: rows 0 and 2 bind, at a half each.
	if !p.Solve(math.Inf(1)) || math.Abs(p.Dual(0)-0.5) > 1e-12 || p.Dual(1) != 0 || math.Abs(p.Dual(2)-0.5) > 1e-12 {
		t.Errorf("prices %v %v %v, want 1/2 0 1/2", p.Dual(0), p.Dual(1), p.Dual(2))
	}
	if math.Abs(p.Primal(0)-1.75) > 1e-12 || math.Abs(p.Primal(1)-0.5) > 1e-12 {
		t.Errorf("amounts %v %v, want 7/4 1/2", p.Primal(0), p.Primal(1))
	}
	if p.Solve(2) {
		t.Error("a gain of 9/4 is enough where 2 is")
	}
	open := New(1, 1)
	open.Maximize(0)
	open.SetCoefficient(0, 0, -1)
	if open.Solve(math.Inf(1)) {
		t.Error("a gain without limit was solved")
	}
}

// TestEnter solves programs of the most copies of a bundle x, made of goods that
// variables make from limited stocks, with all variables known and with variables that
// enter as they pay: the objective is the same, and the dual values prove it.
func TestEnter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stocks, goods := rapid.IntRange(1, 5).Draw(t, "stocks"), rapid.IntRange(1, 4).Draw(t, "goods")
		number := rapid.IntRange(1, 5)
		stock := rapid.SliceOfN(number, stocks, stocks).Draw(t, "stock")
		var makers [][]Entry // one of each good first
		for i := range goods + rapid.IntRange(0, 8).Draw(t, "further") {
			good := i % goods
			maker := []Entry{{Row: stocks + good, Value: -1}}
			for s := range stock {
				maker = append(maker, Entry{Row: s, Value: float64(number.Draw(t, "use"))})
			}
			makers = append(makers, maker)
		}
		begin := func(variables int) *Program {
			p := New(stocks+goods, 1+variables)
			p.Maximize(0)
			for s, b := range stock {
				p.SetBound(s, float64(b))
			}
			for g := range goods {
				p.SetCoefficient(stocks+g, 0, 1)
			}
			return p
		}
		all, some := begin(len(makers)), begin(0)
		for i, maker := range makers {
			for _, e := range maker {
				all.SetCoefficient(e.Row, 1+i, e.Value)
			}
		}
		if !all.Solve(math.Inf(1)) {
			t.Fatal("not solved")
		}
		entered := map[int][]Entry{}
		for pays := true; pays; {
			for some.Improve() {
			}
			pays = false
			for _, maker := range makers {
				cost := 0.0
				for _, e := range maker {
					cost += some.Dual(e.Row) * e.Value
				}
				if cost < -1e-9 {
					variable, ok := some.Enter(maker)
					if !ok {
						t.Fatal("nothing bounds a variable that uses stocks")
					}
					entered[variable] = maker
					pays = true
					break
				}
			}
		}
		if math.Abs(all.Objective()-some.Objective()) > 1e-9 {
			t.Fatalf("%v with all variables, %v with those that entered", all.Objective(), some.Objective())
		}
		worth, used := 0.0, make([]float64, stocks)
		for s, b := range stock {
			worth += some.Dual(s) * float64(b)
		}
		for _, variable := range some.basis {
			for _, e := range entered[variable] {
				if e.Row < stocks {
					used[e.Row] += e.Value * some.Primal(variable)
				}
			}
		}
		if math.Abs(worth-some.Objective()) > 1e-9 {
			t.Errorf("the dual values are worth %v, the objective is %v", worth, some.Objective())
		}
		for s, b := range stock {
			if math.Abs(used[s]+some.Primal(some.columns+s)-float64(b)) > 1e-9 {
				t.Errorf("stock %d: %v used and %v left of %d", s, used[s], some.Primal(some.columns+s), b)
			}
		}
	})
	open := New(1, 1)
	if _, ok := open.Enter([]Entry{{Row: 0, Value: -1}}); ok {
		t.Error("a variable without limit entered")
	}
}

func TestIntegers(t *testing.T) {
	for _, c := range []struct {
		xs     []float64
		finest int64
		want   []int64
	}{
		{nil, 10, []int64{}},
		{[]float64{0, 0}, 10, []int64{0, 0}},
		{[]float64{0.5, 0.25, 0}, 10, []int64{2, 1, 0}},
		{[]float64{1.0 / 3, 1.0 / 7, 1}, 100, []int64{7, 3, 21}},
		{[]float64{1.0 / 3, 1.0 / 7, 1}, 20, []int64{7, 3, 20}}, // rounded
		{[]float64{1, 1e-12}, 100, []int64{1, 0}},
	} {
		if got := Integers(c.xs, c.finest, 1e-9); !slices.Equal(got, c.want) {
			t.Errorf("%v in whole numbers up to %d: %v, want %v", c.xs, c.finest, got, c.want)
		}
	}
}
