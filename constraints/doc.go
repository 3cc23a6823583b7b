// Package constraints states routing questions as pseudo-Boolean formulas, has
// solvers answer them, and checks every model itself.
//
//	s, err := constraints.Open(constraints.Options{Solver: "auto"})
//	defer s.Close()
//	rings, err := constraints.Rings(ctx, s, topo, constraints.RingOptions{Count: 1})
//	rings.Orders[0]   [0 1 3 2 6 7 5 4] on a DGX-1: each step over a double NVLink
//	rings.By          packing: few ring orders need a solver, all on nodes of more than 16
//
//	 Formula ── rows as stated ──▶ Check ◀── model ──┐
//	    │                                             │
//	    └─ normal form ─▶ worker z3 ─┐                │
//	                   ─▶ worker pb ─┴── sat, unsat, timeout
//
// Invariants:
//   - Check evaluates the constraints as the caller stated them. It shares no code
//     with the solvers or with the normal form that they are given.
//   - Every model has passed Check before it is returned.
//   - A solver that returns a wrong model, sends a malformed message, hangs or dies
//     is reported by name, killed and replaced.
//   - Preferences (Formula.Prefer) make the model the same whichever solver found
//     it.
//   - CheckRings, CheckRouting, CheckTrees and CheckNICs judge results by the
//     topology alone, without formulas.
//
// Every query has a time limit (Options.Timeout). SolveWithin limits the solvers'
// work instead, so that the answer is the same on every machine.
//
// Unsat is not checked: no solver here gives a proof. Where it matters, ask package
// bounds first.
//
// A program that calls Open must call child.Dispatch(os.Args) first in main, and
// its tests in TestMain: the solvers run in processes of the same binary.
package constraints
