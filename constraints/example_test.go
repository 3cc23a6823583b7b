package constraints_test

import (
	"fmt"

	"github.com/colltune/colltune/constraints"
)

// Of three chunks of 2, 3 and 4 MB, a link with room for 6 MB can take two.
func ExampleFormula() {
	f := constraints.NewFormula("chunks on a link")
	a, b, c := f.Bool("a"), f.Bool("b"), f.Bool("c")
	f.SumAtMost(6, constraints.Term{Weight: 2, Lit: a}, constraints.Term{Weight: 3, Lit: b}, constraints.Term{Weight: 4, Lit: c})
	fmt.Println(f.Check([]bool{true, true, false}))
	fmt.Println(f.Check([]bool{false, true, true}))
	// Output:
	// <nil>
	// formula chunks on a link: not a model: constraint 0 asks +2*a +3*b +4*c <= 6; the sum is 7
}
