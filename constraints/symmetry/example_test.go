package symmetry_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/symmetry"
)

// A ring of four ranks with links one way has four rotations.
func ExampleFind() {
	g := symmetry.NewGraph([]int{0, 0, 0, 0})
	for r := range 4 {
		g.Arc(r, (r+1)%4, 7)
	}
	group := symmetry.Find(context.Background(), g, symmetry.Limit)
	fmt.Println(group.Generators, group.Order(), group.Orbits(), group.Complete)
	// Output: [[1 2 3 0]] 4 [0 0 0 0] true
}
