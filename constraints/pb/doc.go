// Package pb is the embedded pseudo-Boolean solver: crillab/gophersat, called
// through ParsePBConstrs. (Its ParseCardConstrs is not sound: in v1.4.0 it returns
// models that break constraints.)
//
//	Σ weight·literal ≥ bound, for every row   ──▶   a model, or unsat
//
// Invariants: the same rows give the same model; a panic inside gophersat is an
// error here. gophersat writes to package variables, so a second Solve in a process
// waits for the first.
//
// Solve cannot be interrupted. For a time limit, run it in a process of its own and
// kill that. SolveWithin limits its work by the clauses that it learns. It checks no
// model.
package pb
