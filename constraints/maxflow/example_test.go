package maxflow_test

import (
	"fmt"

	"github.com/colltune/colltune/constraints/maxflow"
)

func ExampleGraph() {
	g := maxflow.New(4)
	a := g.Arc(0, 1, 3) // 0 ─3─▶ 1 ─2─▶ 3
	g.Arc(1, 3, 2)      // └─1─▶ 2 ─5─▶ 3
	g.Arc(0, 2, 1)
	g.Arc(2, 3, 5)
	fmt.Println("flow", g.MaxFlow(0, 3, maxflow.Unlimited), "of which", g.Flow(a), "through vertex 1")
	fmt.Println("source's side of the minimum cut:", g.OnSourceSide(0), g.OnSourceSide(1), g.OnSourceSide(2), g.OnSourceSide(3))
	// Output:
	// flow 3 of which 2 through vertex 1
	// source's side of the minimum cut: true true false false
}
