package nics_test

import (
	"fmt"

	"github.com/colltune/colltune/constraints/nics"
	"github.com/colltune/colltune/topologies"
)

// In TE-CCL's model of two DGX-2, only odd GPUs send to the other node and only even
// ones receive from it. Each relays for its neighbour.
func ExampleChoose() {
	t, err := topologies.Resolve("dgx-2-teccl", topologies.Options{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	choice, err := nics.Choose(t)
	fmt.Println("out", choice.Out)
	fmt.Println("in ", choice.In)
	fmt.Println(choice.Width, err)
	// Output:
	// out [1 1 3 3 5 5 7 7 9 9 11 11 13 13 15 15]
	// in  [0 0 2 2 4 4 6 6 8 8 10 10 12 12 14 14]
	// 6.25 GB/s <nil>
}
