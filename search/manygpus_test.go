package search

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// On a rack of 72 GPUs, or 71 of them, all-pairs comes near the bound for large sizes if
// enough threadblocks reduce, and copy, each rank's part. With 8 pieces the sums alone
// take as long as all messages.
func TestManyGPUsComeNearTheirBound(t *testing.T) {
	const size = 1 << 30
	whole := topotest.Resolve(t, "gb200-nvl72", 1)
	var most []int
	for gpu := range 71 {
		most = append(most, gpu)
	}
	part, err := topologies.Resolve("gb200-nvl72", topologies.Options{GPUs: most})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topology   *topologies.Topology
		collective string
		pieces     int
		near       float64 // bound over time
	}{
		{part, "allreduce", 64, 0.85},
		{whole, "allgather", 8, 0.9},
	} {
		p := Problem{Topology: c.topology, Collective: c.collective, InPlace: collective.DefaultInPlace(c.collective), Op: "sum", DType: "f32", Sizes: []int64{size}}
		e := &enumeration{problem: &p, options: &Options{Executor: "sim", Jobs: 1}, machine: machineOf(c.topology), begun: newBegun()}
		r, err := e.route(familyFor(t, "all-pairs", c.collective), script.Params{"pieces": c.pieces, "phases": 2})
		if err != nil {
			t.Fatal(err)
		}
		built, err := e.compile(t.Context(), &draft{name: "all-pairs", routing: r, instances: 1})
		if err != nil || built.refusal != nil {
			t.Fatal(err, built.refusal)
		}
		prepared, err := sim.Prepare(built.program, c.topology)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, tile := range []int64{512 << 10, 2 << 20} {
			result, err := prepared.Run(sim.Knobs{Bytes: size, Protocol: topologies.Simple, TileBytes: tile, ElemBytes: 4})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, result.TimeUS)
		}
		col, err := collective.New(p.spec(1))
		if err != nil {
			t.Fatal(err)
		}
		bound, err := bounds.Of(t.Context(), c.topology, col)
		if err != nil {
			t.Fatal(err)
		}
		if got := bound.TimeUS(size) / best; got < c.near {
			t.Errorf("%s over %d GPUs takes %.0f us: %.2f of the bound, want %.2f", c.collective, len(c.topology.Ranks), best, got, c.near)
		}
	}
}
