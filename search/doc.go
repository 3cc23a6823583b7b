// Package search enumerates candidate routings for a problem, checks them,
// compiles and verifies them, and hands the survivors to autotune.
//
//	families × parameters ─▶ trace ─▶ links exist? ─▶ × instances ─▶ too many? ─▶ compile ─▶ fits the GPU? ─▶ verify ─▶ candidates
//	     ▲ holes (ring orders) filled by constraints        each refusal is kept with its reason
//	     ▲ routings nobody wrote: trees packed, found by a solver, scheduled greedily
//
// Invariants: a candidate is enumerated once and ends as exactly one of
// refused, bounded out or tuned; what is handed on is verified; the order of
// candidates, and so every choice among equals, is the same on every run and
// with any number of jobs; a search that goes on with a campaign has the
// candidates it had before, programs kept there and all. Where a budget leaves no time
// for some, they are named, and the next search goes on with them.
//
// It does not time anything, and it does not choose among candidates, but where
// those of a large system are too many to be compiled (shortlist.go).
package search
