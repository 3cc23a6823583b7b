package autotune_test

import (
	"context"
	"fmt"
	"os"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

// Two rings are tuned on the simulator: over one channel and over four, which pays at
// large sizes.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ring4, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}
	sizes := []int64{1 << 10, 64 << 20}
	c, err := results.Create(dir, results.Plan{
		Version: "0.1.0", Topology: results.Topology{Name: "ring:4", Nodes: 1, Ranks: 4, Hash: ring4.Hash(), Text: "ring:4"},
		Call: call, Placement: "in", Sizes: sizes, Iters: 1, Executor: "sim",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	var candidates []autotune.Candidate
	for _, channels := range []int{1, 4} {
		p := irtest.Ring(4, channels, 0, true)
		candidates = append(candidates, autotune.Candidate{Algorithm: "ring", Source: "template", Channels: channels, Instances: channels, Program: p, Hash: p.Hash(), SlotsNeeded: 1})
	}
	problem := autotune.Problem{Topology: ring4, TopologyHash: ring4.Hash(), Call: call, Sizes: sizes, Iters: 1}
	summary, err := autotune.Run(context.Background(), problem, candidates, autotune.Options{
		Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 1, Campaign: c,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := table.Build(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(summary.Tuned, "candidates tuned at", summary.Finished, "sizes")
	for _, r := range t.Rows {
		fmt.Println(r.Bytes, r.Title())
	}
	// Output:
	// 2 candidates tuned at 2 sizes
	// 1024 ring ×1 LL tile 32K
	// 67108864 ring ×4 Simple tile 2M
}
