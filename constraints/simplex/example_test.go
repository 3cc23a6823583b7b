package simplex_test

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/constraints/simplex"
)

// maximise x + y  subject to  2x + y ≤ 4, x + 3y ≤ 6
func ExampleProgram() {
	p := simplex.New(2, 2)
	p.Maximize(0)
	p.Maximize(1)
	for row, r := range [][3]float64{{2, 1, 4}, {1, 3, 6}} {
		p.SetCoefficient(row, 0, r[0])
		p.SetCoefficient(row, 1, r[1])
		p.SetBound(row, r[2])
	}
	fmt.Println(p.Solve(math.Inf(1)))
	fmt.Printf("%.1f: x = %.1f, y = %.1f\n", p.Objective(), p.Primal(0), p.Primal(1))
	fmt.Printf("dual: %.1f and %.1f\n", p.Dual(0), p.Dual(1))
	// Output:
	// true
	// 2.8: x = 1.2, y = 1.6
	// dual: 0.4 and 0.2
}
