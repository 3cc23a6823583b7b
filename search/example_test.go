package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

// Which program is fastest for an allreduce over four fully linked GPUs, by the
// simulator, at a small and a large size?
func ExampleRun() {
	if err := searchFour(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1024 bytes: all-pairs ×1 LL
	// 67108864 bytes: ring ×8 Simple
}

func searchFour() error {
	source := search.Source{Text: "fullmesh:4"}
	topology, err := source.Read("four")
	if err != nil {
		return err
	}
	problem := search.Problem{
		Topology: topology, InPlace: true, Sizes: []int64{1 << 10, 64 << 20},
		Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"},
	}
	options := search.Options{Executor: "sim", Families: []string{"ring", "all-pairs"}, Channels: 1}
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plan := search.PlanOf(problem, options, source, search.Settings{Version: "example", Iters: 1, ExecutorName: "sim"})
	c, err := results.Create(filepath.Join(dir, "four"), plan)
	if err != nil {
		return err
	}
	defer c.Close()
	pool := executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil })
	defer pool.Close()
	if _, err := search.Run(context.Background(), problem, options, c, search.Effort{Executors: pool}); err != nil {
		return err
	}
	t, err := table.Build(c)
	if err != nil {
		return err
	}
	for _, row := range t.Rows {
		fmt.Printf("%d bytes: %s ×%d %s\n", row.Bytes, row.Algorithm, row.Instances, row.Protocol)
	}
	return nil
}
