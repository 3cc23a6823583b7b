package formulatest

import (
	"math/rand/v2"

	"github.com/colltune/colltune/constraints"
)

// Random is small enough for brute force and of every kind of row.
func Random(r *rand.Rand, variables int) *constraints.Formula {
	f := constraints.NewFormula("random")
	for range variables {
		f.Bool("")
	}
	literal := func() constraints.Lit {
		l := constraints.Lit(1 + r.IntN(variables))
		if r.IntN(2) == 0 {
			return l.Not()
		}
		return l
	}
	for range r.IntN(3 * variables) {
		n := 1 + r.IntN(5)
		lits := make([]constraints.Lit, n)
		terms := make([]constraints.Term, n)
		for i := range n {
			lits[i] = literal() // at times twice the same
			terms[i] = constraints.Term{Weight: r.IntN(9) - 3, Lit: lits[i]}
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
		group := make([]constraints.Lit, 1+r.IntN(4))
		for i := range group {
			group[i] = literal()
		}
		f.Prefer(group...)
	}
	return f
}

// Models calls yield with each assignment of n variables. It is only valid during the
// call.
func Models(n int, yield func(model []bool)) {
	m := make([]bool, n)
	for bits := range 1 << n {
		for i := range m {
			m[i] = bits>>i&1 == 1
		}
		yield(m)
	}
}
