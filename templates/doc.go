// Package templates holds the routing families: each a Starlark program under
// families, embedded, with its declared parameters and holes, and the registry
// that finds them and enumerates their parameters.
//
//	families := templates.Builtin()
//	ring, err := templates.Find(families, "ring", "allreduce")
//	grid, err := ring.Grid(machine, "allreduce", map[string]string{"channels": "4"})
//	program, err := ring.Trace(machine, script.Request{Collective: "allreduce", InPlace: true}, grid[0])
//
// A family of the user's own is loaded from a file by Load and is written the
// same way; the modules under library are there for it too.
//
// What a family costs in steps and on the wire it says itself (script.Cost);
// docs/families.md lists it for a choice of systems, as tests count it.
//
// Invariants: names are canonical (lower case, words joined by -) and found
// however they are spelled; a grid is in the order of the declaration and holds
// only parameters with which the family applies.
//
// It compiles and measures nothing, and fills no holes: that is search's work.
package templates
