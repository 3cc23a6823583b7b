package wire_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/topologies"
)

// A trial's documents are named by their hashes, and sent apart from it.
func ExampleEncodeTrial() {
	sent := wire.EncodeTrial(executor.Trial{
		Native:     &executor.Native{Algorithm: "ring"},
		Collective: collective.Spec{Name: "allgather", Ranks: 8},
		Bytes:      1 << 20, Protocol: topologies.LL128, DType: "f32", Iters: 20,
	}, "", "hash-of-the-topology")
	received, err := wire.DecodeTrial(sent)
	fmt.Println(sent.Topology, received.Native, received.Collective.Name, received.Protocol, err)
	// Output: hash-of-the-topology ring allgather LL128 <nil>
}
