package nccl_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// NCCL's choices for an allreduce on eight A100s, from latency to bandwidth.
func ExampleForcedChoices() {
	dgx, err := topologies.Resolve("dgx-a100", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	allreduce, err := collective.New(collective.Spec{Name: "allreduce", Ranks: len(dgx.Ranks), Chunks: 1, InPlace: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, mib := range []int64{1, 16, 1024} {
		all, err := nccl.ForcedChoices(dgx, allreduce, mib<<20, nccl.Forced{})
		if err != nil {
			fmt.Println(err)
			return
		}
		c := all[0]
		fmt.Printf("%d MiB: %s %s in %d channels\n", mib, c.Family, c.Protocol, c.Channels)
	}
	// Output:
	// 1 MiB: ring LL in 24 channels
	// 16 MiB: ring LL128 in 24 channels
	// 1024 MiB: ring Simple in 24 channels
}
