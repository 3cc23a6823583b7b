package solver_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// Of three chunks of 2, 3 and 4 MB, a link with room for 6 MB takes those that add up
// to most, and of equals the first.
func ExamplePool_Solve() {
	s, err := solver.Open(solver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	f := constraints.NewFormula("chunks on a link")
	a, b, c := f.Bool("a"), f.Bool("b"), f.Bool("c")
	size := []constraints.Term{{Weight: 2, Lit: a}, {Weight: 3, Lit: b}, {Weight: 4, Lit: c}}
	f.SumAtMost(6, size...)
	f.SumAtLeast(5, size...)
	f.Prefer(b) // of the two solutions, take the one with b
	answer, err := s.Solve(context.Background(), f)
	fmt.Println(answer.Status, answer.Model, err)
	// Output: sat [true true false] <nil>
}
