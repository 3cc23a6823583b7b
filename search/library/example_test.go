package library_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// What NCCL takes for all-reduces on a DGX H100: a ring for small ones, and for large ones the
// reductions in its switches, which no program here does.
func ExampleCall() {
	dgx, err := topologies.Resolve("dgx-h100", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}
	for _, bytes := range []int64{64 << 10, 1 << 30} {
		t, _, err := library.Call(context.Background(), program.Target{Call: call, Topology: dgx, InPlace: true}, bytes, program.Options{Solver: "pb"})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s, by its %s: %.0f µs\n", t.Name, t.From, t.US)
	}
	// Output:
	// ring ×2 LL, by its program: 20 µs
	// nvls Simple, by its closed form: 3989 µs
}
