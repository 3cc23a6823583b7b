package sim_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// A program is prepared for a system once, and then timed with any knobs.
func ExamplePrepare() {
	ring4, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := sim.Prepare(irtest.Ring(4, 1, 0, true), ring4)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, bytes := range []int64{1 << 10, 1 << 20} {
		r, err := p.Run(sim.Knobs{Bytes: bytes, ElemBytes: 4, Protocol: topologies.LL, TileBytes: 32 << 10})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d bytes: %.1f us\n", bytes, r.TimeUS)
	}
	// Output:
	// 1024 bytes: 13.6 us
	// 1048576 bytes: 523.9 us
}
