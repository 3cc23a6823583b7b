package rings_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/topologies"
)

// A ring through the eight GPUs of a DGX-1, over double NVLinks only.
func ExampleFind() {
	t, err := topologies.Resolve("dgx-1", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := rings.Find(context.Background(), nil, t, rings.Options{Count: 1, NoSolver: true})
	fmt.Println(found.Orders, found.By, err)
	fmt.Println(rings.Width(t, found.Orders))
	// Output:
	// [[0 1 3 2 6 7 5 4]] packing <nil>
	// 50 GB/s
}

// The error says why there is no ring.
func ExampleNoRingError() {
	t, err := topologies.Resolve("mesh:3x3", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rings.Find(context.Background(), nil, t, rings.Options{NoSolver: true})
	fmt.Println(err)
	// Output:
	// topology mesh:3x3: no ring: every link joins one of gpu 0, gpu 2, gpu 4, gpu 6 and gpu 8 to one of gpu 1, gpu 3, gpu 5 and gpu 7: a ring takes them in turns, and they are 5 and 4
}
