package bounds_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

// Seven of the eight shards of an allgather must enter each GPU of a DGX A100.
func ExampleOf() {
	t, err := topologies.Resolve("dgx-a100", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := collective.New(collective.Spec{Name: "allgather", Ranks: len(t.Ranks), Chunks: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := bounds.Of(context.Background(), t, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Exact, "GB/s")
	fmt.Println(b.Proof)
	fmt.Printf("%.1f us for 256 MiB, at least %d send\n", b.TimeUS(256<<20), b.LatencySteps)
	// Output:
	// 2400/7 GB/s
	// 7/8 of the size must leave ranks 1-7, through 300 GB/s
	// 782.9 us for 256 MiB, at least 1 send
}
