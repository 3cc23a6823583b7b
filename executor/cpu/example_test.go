package cpu_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/topologies"
)

// A ring allreduce over four ranks runs three times on this machine's memory. Its times
// depend on the machine; its result is checked element by element.
func ExampleNew() {
	ring4, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := cpu.New().Run(context.Background(), executor.Trial{
		Program: irtest.Ring(4, 1, 0, true), Topology: ring4, Bytes: 64 << 10,
		Protocol: topologies.LL, TileBytes: 32 << 10, DType: "f32", Op: "sum", Iters: 3, Warmup: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d times, %d elements wrong, checked: %v\n", len(m.TimesUS), m.Wrong, m.Checked)
	// Output: 3 times, 0 elements wrong, checked: true
}
