package topologies_test

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/colltune/colltune/topologies"
)

// Two nodes from the catalogue, and a path between their GPUs: over NICs and the
// fabric.
func ExampleResolve() {
	t, err := topologies.Resolve("dgx-a100", topologies.Options{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(t.Ranks), "GPUs")
	for _, to := range []int{1, 8} {
		path, _ := t.Path(0, to)
		for _, e := range path.Edges {
			edge := t.Edges[e]
			fmt.Printf("%v %v, ", edge.Kind, edge.Bandwidth)
		}
		fmt.Println("to rank", to)
	}

	_, err = topologies.Resolve("dgx-a1000", topologies.Options{})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// 16 GPUs
	// nvlink 300 GB/s, nvlink 300 GB/s, to rank 1
	// net 25 GB/s, net 25 GB/s, net 25 GB/s, net 25 GB/s, to rank 8
	// true
}
