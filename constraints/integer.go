package constraints

import "fmt"

// Int is a small integer in order encoding: one variable for each value but the
// lowest, which holds where the integer is at least that value.
//
//	domain 2…5:   ≥3 ≥4 ≥5
//	value 4:       1  1  0
type Int struct {
	Lo, Hi int
	from   []Lit // from[i]: at least Lo+1+i
}

// maxDomain is the largest domain an Int may have: beyond it sums are the
// better encoding.
const maxDomain = 1 << 16

// Int is a new integer from lo to hi.
func (f *Formula) Int(name string, lo, hi int) Int {
	if hi < lo || hi-lo >= maxDomain || lo < -maxSum || hi > maxSum {
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

// AtLeast is the literal that says the integer is at least k.
func (x Int) AtLeast(k int) Lit {
	switch {
	case k <= x.Lo:
		return True
	case k > x.Hi:
		return False
	}
	return x.from[k-x.Lo-1]
}

// AtMost is the literal that says the integer is at most k.
func (x Int) AtMost(k int) Lit { return x.AtLeast(k + 1).Not() }

// Terms is the integer, less its lowest value, as a sum: to put into a SumAtMost
// and its kin, whose bound is then less weight times x.Lo.
func (x Int) Terms(weight int) []Term {
	terms := make([]Term, len(x.from))
	for i, l := range x.from {
		terms[i] = Term{weight, l}
	}
	return terms
}

// Value is the integer in a model.
func (x Int) Value(model []bool) int {
	v := x.Lo
	for _, l := range x.from {
		if holds(model, l) {
			v++
		}
	}
	return v
}

// Is is a literal that holds where x is k.
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

// Less asks for x + gap ≤ y where all of the premises hold; a gap of 1 is x < y.
func (f *Formula) Less(x, y Int, gap int, premises ...Lit) {
	// x ≥ k makes y ≥ k+gap, for every k that x may take.
	for k := x.Lo; k <= x.Hi; k++ {
		ahead := append(append([]Lit(nil), premises...), x.AtLeast(k))
		f.Implies(ahead, y.AtLeast(k+gap))
		if y.AtLeast(k+gap) == False {
			break // larger k are excluded with this one
		}
	}
}

// Equal asks for x = y where all of the premises hold.
func (f *Formula) Equal(x, y Int, premises ...Lit) {
	f.Less(x, y, 0, premises...)
	f.Less(y, x, 0, premises...)
}
