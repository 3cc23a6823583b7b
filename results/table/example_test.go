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
	var trials []results.Trial
	for i, bytes := range plan.Sizes {
		trials = append(trials,
			resultstest.NativeTrial("ring", "LL", nil, 8, bytes, 5+float64(i)),
			resultstest.NativeTrial("tree", "LL", nil, 8, bytes, 6.5))
	}
	c, err := resultstest.CreateIn(dir, plan, trials...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
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
