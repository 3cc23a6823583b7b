package simplex

import (
	"math"
	"testing"
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
