package trees_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/trees"
	"github.com/colltune/colltune/topologies"
)

// An allgather on two DGX A100 at the bound takes 13 trees from each rank.
func ExamplePack() {
	t, err := topologies.Resolve("dgx-a100", topologies.Options{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := trees.Pack(context.Background(), t, trees.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.K, "trees a rank carry", p.Rate.RatString(), "B/s, optimal:", p.Optimal())
	fmt.Println(p.Check(t))
	// Output:
	// 13 trees a rank carry 1040000000000/3 B/s, optimal: true
	// <nil>
}

// Two broadcast trees on a DGX-1 that share no link.
func ExampleDisjoint() {
	t, err := topologies.Resolve("dgx-1", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := trees.Disjoint(context.Background(), t, trees.DisjointOptions{Count: 2, Down: true})
	fmt.Println(a.Parents, a.Width.RatString(), "B/s", err)
	// Output:
	// [[-1 0 3 1 5 7 2 6] [-1 3 6 2 0 4 7 5]] 50000000000 B/s <nil>
}
