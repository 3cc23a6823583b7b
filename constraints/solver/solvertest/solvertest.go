package solvertest

import (
	"testing"

	"github.com/colltune/colltune/constraints/solver"
)

// Open opens solvers, which end with the test. It skips the test if libz3 is asked for
// by name and is missing.
func Open(t testing.TB, o solver.Options) *solver.Pool {
	t.Helper()
	s, err := solver.Open(o)
	if err != nil && o.Solver == "z3" {
		t.Skip("libz3 is not here: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
