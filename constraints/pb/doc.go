// Package pb is the embedded pseudo-Boolean solver: crillab/gophersat through
// the one entry point of it that is sound, ParsePBConstrs. (ParseCardConstrs of
// v1.4.0 returns models that break constraints.)
//
//	Σ weight·literal ≥ bound, for every row   ──▶   a model, or that there is none
//
// Invariants: rows are over distinct variables with positive weights; the
// solver's working memory is package-wide, so a second Solve in one process
// waits for the first; a panic inside it is an error here. The same rows give
// the same model.
//
// It can't be interrupted: who needs a time limit runs it in a process of its
// own and kills that. A limit of work it keeps to by itself (SolveWithin), by
// clauses that are counted as they are learned. It checks no model.
package pb
