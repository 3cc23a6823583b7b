// Package templates holds the routing families, which are embedded Starlark
// programs with declared parameters and holes, and the registry that finds them
// and enumerates their parameters.
//
//	families := templates.Builtin()
//	ring, err := templates.Find(families, "ring", "allreduce")
//	grid, err := ring.Grid(machine, "allreduce", map[string]string{"channels": "4"})
//	program, err := ring.Trace(machine, script.Request{Collective: "allreduce", InPlace: true}, grid[0])
//
// Load reads a user's family from a file. It is written the same way, and may
// load the modules under library.
//
// A family declares its cost in steps and on the wire (script.Cost);
// docs/families.md lists the costs on some systems, as counted by tests.
//
// Invariants: names are canonical (lower case, words joined by -), and Find
// ignores case, hyphens and underscores; a grid is in the order of declaration
// and contains only parameters with which the family applies.
//
// It does not compile, measure or fill holes: package search does.
package templates
