// Package simplex solves small linear programs: what gains most within limits,
// and what each limit costs.
//
//	p := simplex.New(2, 1)        max x  where  2x ≤ 3, x ≤ 2
//	p.Gain(0)
//	p.Set(0, 0, 2); p.Limit(0, 3)
//	p.Set(1, 0, 1); p.Limit(1, 2)
//	p.Solve(math.Inf(1))          true
//	p.Value()                     1.5
//	p.Price(0), p.Price(1)        0.5, 0
//	p.Amount(0)                   1.5
//
// Invariants: the same program has the same answer; work is bounded, and where
// it ends first, or rounding gets in the way, Solve is false.
//
// It reckons in floats: what is made of its prices must be exact by itself. It
// knows no topologies.
package simplex
