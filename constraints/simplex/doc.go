// Package simplex solves small linear programs by the simplex method on a dense
// tableau, and returns primal and dual solutions.
//
//	p := simplex.New(2, 1)        max x  subject to  2x ≤ 3, x ≤ 2
//	p.Maximize(0)
//	p.SetCoefficient(0, 0, 2); p.SetBound(0, 3)
//	p.SetCoefficient(1, 0, 1); p.SetBound(1, 2)
//	p.Solve(math.Inf(1))          true
//	p.Objective()                 1.5
//	p.Dual(0), p.Dual(1)          0.5, 0
//	p.Primal(0)                   1.5
//
// Column generation: while the caller finds a variable that costs less than nothing at
// the dual values, it calls Enter with it, and Improve until nothing is left to improve.
// Integers turns dual values into whole numbers.
//
// Invariants: the same program has the same solution; the number of pivots is
// bounded, and Solve returns false if it is reached.
//
// It computes in floating point. Whoever derives a bound from the dual values must
// round them and evaluate the bound exactly. It knows no topologies.
package simplex
