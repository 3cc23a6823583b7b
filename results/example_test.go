package results_test

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results"
)

// A campaign is a folder: what was journaled before it is closed, or its process
// killed, is there when it is opened again.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "campaign")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := results.Create(dir, results.Plan{
		Version:  "0.1.0",
		Topology: results.Topology{Name: "ring:4", Nodes: 1, Ranks: 4, Hash: fmt.Sprintf("%064x", 4), Text: "name = \"ring:4\"\n"},
		Call:     collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Placement: "in",
		Sizes: []int64{2048, 1024}, Iters: 20, Warmup: 5, Executor: "sim",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := c.SetTally(results.Tally{Enumerated: 3, Refused: map[string]int{"link": 2}, Tuned: 1}); err != nil {
		fmt.Println(err)
	}
	c.Close()

	again, err := results.OpenReadOnly(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Close()
	tally, _ := again.Tally()
	fmt.Println(again.Plan().Collective, again.Plan().Sizes, tally.Refused)
	// Output: allreduce [1024 2048] map[link:2]
}

// The interval needs six values to be narrower than the sample.
func ExampleMedianCI() {
	us := []float64{11, 12, 12, 13, 13, 13, 14, 90}
	fmt.Println(results.Median(us), results.MedianCI(us))
	// Output: 13 [11 90]
}
