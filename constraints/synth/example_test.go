package synth_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/synth"
	"github.com/colltune/colltune/topologies"
)

// An allgather on a ring of four ranks takes two steps of one round each. In one step, data
// cannot reach the opposite rank.
func ExampleFind() {
	t, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := collective.New(collective.Spec{Name: "allgather", Ranks: len(t.Ranks), Chunks: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	solvers, err := solver.Open(solver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer solvers.Close()
	for steps := 1; steps <= 2; steps++ {
		q := synth.Query{Topology: t, Collective: c, Steps: steps, Rounds: steps}
		a, err := synth.Find(context.Background(), solvers, q)
		if err != nil {
			fmt.Println(err)
			return
		}
		if a.Status == solver.Unsat {
			fmt.Println(steps, "step:", a.Detail)
		} else {
			fmt.Println(steps, "steps:", a.Status, synth.Replay(q, a.Unit, a.Items, a.Schedule))
		}
	}
	// Output:
	// 1 step: rank 2 is 2 sends away from rank 0, and there are no more than 1 step
	// 2 steps: sat <nil>
}
