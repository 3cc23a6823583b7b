package pb_test

import (
	"fmt"

	"github.com/colltune/colltune/constraints/pb"
)

// Two of three variables must hold, but not the first with the second.
func ExampleSolve() {
	model, sat, err := pb.Solve(3, []pb.Row{
		{Lits: []int{1, 2, 3}, Bound: 2},
		{Lits: []int{-1, -2}, Bound: 1},
		{Lits: []int{1}, Bound: 1},
	})
	fmt.Println(model, sat, err)
	// Output: [true false true] true <nil>
}
