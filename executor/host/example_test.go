package host_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	_ "github.com/colltune/colltune/executor/sim" // registers itself
	"github.com/colltune/colltune/topologies"
)

// The simulator runs in a process of its own and is asked for one measurement. The
// program's main has called Dispatch.
func ExampleStart() {
	ctx := context.Background()
	ring4, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.Start(ctx, "sim", host.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	m, err := h.Run(ctx, executor.Trial{
		Program: irtest.Ring(4, 1, 0, true), Topology: ring4, Bytes: 1 << 20,
		Protocol: topologies.LL, TileBytes: 32 << 10, DType: "f32", Op: "sum", Iters: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.0f us\n", m.TimesUS[0])
	// Output: 524 us
}
