// Package search enumerates candidate routings for a problem, checks them,
// compiles and verifies them, and hands the survivors to autotune.
//
//	families × parameters ─▶ trace ─▶ links exist? ─▶ × instances ─▶ too many? ─▶ compile ─▶ fits the GPU? ─▶ verify ─▶ the same program? ─▶ candidates
//	     ▲ holes (ring orders) filled by constraints        each refusal is kept with its reason
//	     ▲ routings nobody wrote: trees packed, found by a solver, scheduled greedily
//
// Words of its own: a draft is a routing with its number of instances, before it is
// compiled; a routing is one traced program; a find is a routing that a construction
// found; a space is all candidates and refusals of a problem.
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
// The baseline is the times in a file (baselinefile.go), or the executor's library left to
// choose (natives.go), or what a model of the library chooses (baselines.go): a program
// with its protocol and tile, whose time is that of its trial, or of its steady state where
// it is too large to be one of the candidates (steady.go). space.go decides between the
// last two. Package results/table compares each winner with it.
//
// Refusals: build.go, from compiling to the comparison with equal programs (collect);
// enumerate.go, of what is traced; shortlist.go, of instances that need not be compiled.
//
// Files, in an order to read them in:
//
//	request       refusal.go observer.go options.go routings.go runtimeprotocols.go problem.go
//	              baselinefile.go library_given.go earlier.go plan.go budget.go
//	helpers       abandon.go limited.go bound.go
//	cost          instance.go schedule.go critical.go cost.go cost_json.go estimate.go
//	drafts        routing.go memory.go size.go cache.go enumerate.go
//	              holes.go hole_rings.go hole_nics.go hole_trees.go
//	              synthesised.go baselines.go steady.go shortlist.go
//	candidates    build.go natives.go nativeprior.go space.go check.go forecast.go
//	              estimates.go
//	search        tune.go run.go library.go clock.go
package search
