package table_test

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
)

// Of the algorithms measured at a size the fastest median wins, and neighbouring sizes
// with one winner make a range.
func ExampleBuild() {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plan := resultstest.Plan(1024, 2048, 4096) // an allreduce over 4 ranks
	c, err := results.Create(dir, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	if _, err := c.SetExecutor(resultstest.Executor); err != nil {
		fmt.Println(err)
		return
	}
	for i, bytes := range plan.Sizes {
		ring := resultstest.NativeTrial("ring", "LL", nil, 8, bytes, 5+float64(i))
		tree := resultstest.NativeTrial("tree", "LL", nil, 8, bytes, 6.5)
		for _, t := range []results.Trial{ring, tree} {
			t.Key = plan.Key(&t).Hash()
			if err := c.Append(t); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	t, err := table.Build(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range t.Ranges {
		fmt.Println(r.MinBytes, r.MaxBytes, r.Title())
	}
	// Output:
	// 1024 4095 ring
	// 4096 4096 tree
}
