package calibrate_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Every call takes 5 µs longer than the topology's file says: the fit finds that.
func ExampleFit() {
	t, err := topologies.Resolve("l40s-4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}
	builder := program.New(program.Target{Call: call, Topology: t, InPlace: true}, program.Options{})
	defer builder.Close()
	calls, err := library.New(builder, library.Options{}, func(string) {}).Calls(context.Background(), []int64{1 << 10, 16 << 10, 64 << 10, 256 << 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	measured := calibrate.Table{Topology: t, Origin: calibrate.Library, Elem: 4}
	for _, c := range calls {
		r, err := sim.Run(c.Program, t, sim.Knobs{Bytes: c.Bytes, Protocol: c.Protocol})
		if err != nil {
			fmt.Println(err)
			return
		}
		measured.Points = append(measured.Points, calibrate.Called(&c, r.TimeUS+5))
	}
	fit, err := calibrate.Fit(context.Background(), calibrate.Request{Tables: []calibrate.Table{measured}})
	if err != nil {
		fmt.Println(err)
		return
	}
	off := fit.Errors(calibrate.Library, true)
	fmt.Printf("launch %+.1f µs; %d judging times off by %.0f %% before, %.0f %% after\n", float64(fit.Launch), off.Rows, 100*off.Before.Median, 100*off.After.Median)
	// Output:
	// launch +5.0 µs; 2 judging times off by 12 % before, 0 % after
}
