// Package program builds programs for a target, a call of a collective on a system: a family or
// a construction, its parameters and a number of instances in; verified IR, an estimate or a
// refusal out.
//
//	family ─▶ parameters ─▶ trace ─▶ links exist? ─▶ × instances ─▶ too many? ─▶ Draft
//	           ▲ holes (ring orders, trees, NICs) filled by constraints
//	construction ─▶ finds (trees packed, found by a solver, scheduled greedily) ─▶ Draft
//	Draft ─▶ fits the GPU? ─▶ compile ─▶ verify ─▶ enough slots, memory? ─▶ bound ─▶ Built
//
// Words of its own: a draft is a routing with its number of instances, before it is
// compiled; a routing is one traced program; a find is a routing that a construction
// found.
//
// Invariants: what is Built without a refusal is verified; a Builder is not changed by what it
// builds, and several goroutines may build; drafts are summed up by one at a time; the same target and options give the same
// programs with any number of jobs, and the same from the Cache as without it.
//
// It does not choose among drafts, and times nothing: see package search, and package cost for
// estimates.
//
// Refusals: build.go and verify.go, from compiling to the bound; family.go, of what is traced;
// size.go and memory.go, of what is too large.
//
// Files, in an order to read them in:
//
//	target     refusal.go observer.go memory.go cache.go holes.go hole_rings.go hole_nics.go
//	           hole_trees.go builder.go
//	drafts     routing.go draft.go size.go fill.go
//	programs   bound.go verify.go entries.go family.go constructions.go build.go capped.go
package program
