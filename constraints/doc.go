// Package constraints states routing questions as formulas, has a solver answer
// them, and believes no answer that it has not checked itself.
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
// Invariants: a formula keeps what was stated and Check judges by that, sharing
// nothing with the solvers or the normal form they are fed; every model has
// passed Check before anyone sees it; a solver that lies, talks nonsense, hangs
// or dies is named, killed and replaced; preferences (Formula.Prefer) make the
// model the same whichever solver found it. Ring orders and routings have
// checkers (CheckRings, CheckRouting) that know nothing of formulas; so have trees
// and choices of NICs (CheckTrees, CheckNICs), which need no formula: package trees
// finds trees, and a flow says how good a choice of NICs can be.
//
// Time limits hold always (Options.Timeout); where what is found must be the same
// on every machine, solvers are limited by the work they do instead (SolveWithin).
//
// A solver may keep a formula between questions that assume different things of it
// (Kept): its models are checked as any are, its refutations are claims.
//
// A solver's "no model" is its word alone: where it matters, ask package bounds
// first. Nothing here measures.
//
// A program that calls Open must call child.Dispatch(os.Args) first in main, and
// its tests in TestMain: the solvers run in processes of the same binary.
package constraints
