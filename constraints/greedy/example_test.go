package greedy_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/greedy"
	"github.com/colltune/colltune/topologies"
)

// An allgather of 1 GiB on a 4x4 mesh.
func ExampleRoute() {
	t, err := topologies.Resolve("mesh:4x4@50GiB/s,0.5us", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := greedy.Route(context.Background(), t, greedy.Options{Bytes: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f us; no schedule takes less than %.0f us\n", s.TimeUS, s.BoundUS)
	first := s.Sends[0]
	fmt.Printf("chunks %v from rank %d to rank %d, from %g to %g us\n", first.Chunks, first.From, first.To, first.Start, first.End)
	fmt.Println(s.Check(t))
	// Output:
	// 10004 us; no schedule takes less than 9375 us
	// chunks [2] from rank 2 to rank 3, from 0 to 1250.5 us
	// <nil>
}
