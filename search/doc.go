// Package search enumerates candidate routings for a problem, checks them,
// compiles and verifies them, and hands the survivors to autotune.
//
//	request ─▶ for each placement: families and constructions ─▶ drafts (package program)
//	        ─▶ shortlist, if they are too many ─▶ build ─▶ the same program? ─▶ candidates ─▶ tune
//	                                 ▲ what the vendor's library chooses (package library)
//
// Words of its own: a space is all candidates and refusals of a problem; a placement is a
// problem in place, or out of place.
//
// Invariants: a candidate is enumerated once and ends as exactly one of
// refused, bounded out or tuned; what is handed on is verified; the order of
// candidates, and so every choice among equals, is the same on every run and
// with any number of jobs; a search that goes on with a campaign has the
// candidates it had before, from the cache there. Where a budget leaves no time
// for some, they are named, and the next search goes on with them.
//
// Estimates returns what candidates are expected to take, for package dispatcher, which chooses
// routings for numbers of nodes that were not searched.
//
// It does not time anything, and it does not choose among candidates, but where
// those of a large system are too many to be compiled (shortlist.go).
//
// The baseline is the times in a file (baselinefile.go), the fastest of tables of libraries
// (library_given.go), the executor's library left to choose (natives.go), or else what package
// library says. Package results/table compares each winner with it.
//
// Refusals: package program, of what is drafted and built; shortlist.go, of drafts that are not
// compiled; capped.go, of what is made for fewer SMs; collect.go, of equal programs.
//
// Files, in an order to read them in:
//
//	request       options.go routings.go runtimeprotocols.go problem.go capabilities.go
//	              baselinefile.go release.go library_given.go earlier.go plan.go families.go check.go
//	candidates    abandon.go budget.go space.go placement.go baselines.go shortlist.go collect.go
//	              nativeprior.go natives.go settings.go capped.go enumerate.go forecast.go estimates.go
//	search        session.go tune.go run.go shares.go clock.go
package search
