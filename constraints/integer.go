package constraints

import "fmt"

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

// Int adds an integer from lo to hi, which takes hi-lo variables.
func (f *Formula) Int(name string, lo, hi int) Int {
	if hi < lo || hi-lo >= maxDomain || lo < -MaxSum || hi > MaxSum {
		f.fail("integer %s from %d to %d: want 1 to %d values", name, lo, hi, maxDomain)
		return Int{Lo: lo, Hi: lo}
	}
	x := Int{Lo: lo, Hi: hi, from: make([]Lit, hi-lo)}
	for i := range x.from {
		label := ""
		if name != "" {
			label = fmt.Sprintf("%s>=%d", name, lo+1+i)
		}
		x.from[i] = f.Bool(label)
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

// AtMost returns the literal that holds if the integer is at most k.
func (x Int) AtMost(k int) Lit { return x.AtLeast(k + 1).Not() }

// Terms returns weight × (x - x.Lo) as terms of a sum. To put x itself into a
// constraint, subtract weight × x.Lo from the bound.
func (x Int) Terms(weight int) []Term {
	terms := make([]Term, len(x.from))
	for i, l := range x.from {
		terms[i] = Term{weight, l}
	}
	return terms
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

// Is returns a literal that holds if x = k.
func (f *Formula) Is(x Int, k int) Lit {
	switch {
	case k < x.Lo || k > x.Hi:
		return False
	case k == x.Lo:
		return x.AtMost(k)
	case k == x.Hi:
		return x.AtLeast(k)
	}
	return f.And(x.AtLeast(k), x.AtMost(k))
}

// Less requires x + gap ≤ y if all premises hold; a gap of 1 means x < y.
func (f *Formula) Less(x, y Int, gap int, premises ...Lit) {
	// x ≥ k implies y ≥ k+gap, for every possible k.
	for k := x.Lo; k <= x.Hi; k++ {
		ahead := append(append([]Lit(nil), premises...), x.AtLeast(k))
		f.Implies(ahead, y.AtLeast(k+gap))
		if y.AtLeast(k+gap) == False {
			break // this excludes larger k as well
		}
	}
}

// Equal requires x = y if all premises hold.
func (f *Formula) Equal(x, y Int, premises ...Lit) {
	f.Less(x, y, 0, premises...)
	f.Less(y, x, 0, premises...)
}
