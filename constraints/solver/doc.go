// Package solver has solvers answer formulas, and checks every model itself.
//
//	s, err := solver.Open(solver.Options{Solver: "auto"})
//	defer s.Close()
//	answer, err := s.Solve(ctx, f)
//
//	 Formula ── rows as stated ──▶ Check ◀── model ──┐
//	    │                                             │
//	    └─ normal form ─▶ worker z3 ─┐                │
//	                   ─▶ worker pb ─┴── sat, unsat, timeout
//
// Invariants:
//   - Every model has passed Formula.Check before it is returned.
//   - A solver that returns a wrong model, sends a malformed message, hangs or dies
//     is reported by name, killed and replaced.
//
// Every query has a time limit (Options.Timeout, a minute unless set), of which package
// synth gives each of its queries a part (its budget.go). SolveWithin limits the solvers'
// work instead, so that the answer is the same on every machine, unless a time limit was
// asked for.
//
// Both kinds of answer end in checkAnswer (backend.go): a model goes through Formula.Check,
// unsat is taken at the solver's word, since no solver here gives a proof. Where that
// matters, ask package bounds first.
//
// A program that calls Open must call child.Dispatch(os.Args) first in main, and its
// tests in TestMain: the solvers run in processes of the same binary.
//
// Files, in an order to read them in: pool.go backend.go work.go message.go worker.go.
package solver
