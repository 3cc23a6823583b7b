package constraints

import "github.com/colltune/colltune/internal/lists"

// Int is a small integer in order encoding: for each value but the lowest, a
// variable that holds if the integer is at least that value.
//
//	domain 2…5:   ≥3 ≥4 ≥5
//	value 4:       1  1  0
type Int struct {
	Lo, Hi int
	from   []Lit // from[i]: the integer is at least Lo+1+i
}

// maxDomain is the largest number of values of an Int. Larger numbers are better
// encoded as sums.
const maxDomain = 1 << 16

// Int adds an integer from lo to hi, which takes hi-lo variables without names.
func (f *Formula) Int(lo, hi int) Int {
	if hi < lo || hi-lo >= maxDomain || lo < -MaxSum || hi > MaxSum {
		f.fail("integer from %d to %d: want 1 to %d values", lo, hi, maxDomain)
		return Int{Lo: lo, Hi: lo}
	}
	x := Int{Lo: lo, Hi: hi, from: make([]Lit, hi-lo)}
	for i := range x.from {
		x.from[i] = f.Bool("")
		if i > 0 {
			f.Clause(x.from[i].Not(), x.from[i-1])
		}
	}
	return x
}

// AtLeast returns the literal that holds if the integer is at least k.
func (x Int) AtLeast(k int) Lit {
	switch {
	case k <= x.Lo:
		return True
	case k > x.Hi:
		return False
	}
	return x.from[k-x.Lo-1]
}

// Terms returns weight × (x - x.Lo) as terms of a sum. To put x itself into a
// constraint, subtract weight × x.Lo from the bound.
func (x Int) Terms(weight int) []Term {
	return lists.Map(x.from, func(l Lit) Term { return Term{weight, l} })
}

// Value returns the integer's value in a model of its formula.
func (x Int) Value(model []bool) int {
	v := x.Lo
	for _, l := range x.from {
		if l.Holds(model) {
			v++
		}
	}
	return v
}
