package network_test

import (
	"fmt"

	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/topologies"
)

func ExampleNew() {
	t, err := topologies.Resolve("ring:3@25GB/s", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n := network.New(t)
	fmt.Println(n.Ranks, n.Vertices, len(n.Arcs))
	fmt.Printf("%+v\n", n.Arcs[0])
	// Output:
	// 3 3 6
	// {From:0 To:1 Capacity:25000000000 Edge:0}
}
