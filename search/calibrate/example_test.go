package calibrate_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

// Every call takes 5 µs longer than the topology's file says: the fit finds that.
func ExampleFit() {
	t, err := topologies.Resolve("l40s-4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	calls, err := search.LibraryCalls(context.Background(), search.Problem{
		Topology: t, InPlace: true, Sizes: []int64{1 << 10, 256 << 10},
		Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"},
	}, search.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	measured := calibrate.Table{Topology: t}
	for _, c := range calls {
		r, err := sim.Run(c.Program, t, sim.Knobs{Bytes: c.Bytes, Protocol: c.Protocol})
		if err != nil {
			fmt.Println(err)
			return
		}
		measured.Points = append(measured.Points, calibrate.Point{LibraryCall: c, MeasuredUS: r.TimeUS + 5})
	}
	fit, err := calibrate.Fit(context.Background(), []calibrate.Table{measured}, 4, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	before, after := fit.Off()
	fmt.Printf("launch %+.1f µs; off by %.0f %% before, %.0f %% after\n", float64(fit.Launch), 100*before, 100*after)
	// Output:
	// launch +5.0 µs; off by 14 % before, 0 % after
}
