// Package constraints states routing questions as pseudo-Boolean formulas, and checks
// answers: models of a formula, and routings and trees on a topology.
//
//	f := constraints.NewFormula("chunks on a link")
//	a, b := f.Bool("a"), f.Bool("b")
//	f.SumAtMost(6, constraints.Term{Weight: 4, Lit: a}, constraints.Term{Weight: 3, Lit: b})
//	f.Check([]bool{true, false})   nil: a alone fits
//
// Its rooms:
//
//	solver     asks the solvers z3 and pb, each in a process of its own
//	rings      ring orders of a topology's ranks
//	nics       through which NIC each GPU's data leave and enter a node
//	network    a topology as a flow network or as hops; maxflow, simplex: what is solved on it
//	bounds     what no routing can beat
//	synth      routings that a solver finds or proves impossible
//	trees, greedy   routings found without one
//
// Invariants:
//   - Check evaluates the constraints as the caller stated them. It shares no code
//     with the solvers or with the normal form that they are given.
//   - Preferences (Formula.Prefer) make the model the same whichever solver found it.
//   - CheckRouting and CheckTrees judge results by the topology alone, without
//     formulas.
//
// Files, in an order to read them in: formula.go integer.go check.go normal.go
// deadline.go dump.go routing.go treecheck.go.
package constraints
