package search

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// On 71 GPUs of a rack of 72, all-pairs comes nearer to the bound for large sizes if more
// threadblocks sum up each rank's part: with 8 pieces the sums alone take long.
func TestManyGPUsComeNearTheirBound(t *testing.T) {
	const size = 1 << 30
	var most []int
	for gpu := range 71 {
		most = append(most, gpu)
	}
	part, err := topologies.Resolve("gb200-nvl72", topologies.Options{GPUs: most})
	if err != nil {
		t.Fatal(err)
	}
	took := map[int]float64{} // by pieces
	for _, pieces := range []int{8, 64} {
		p := Problem{Topology: part, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{size}}
		e := &enumeration{problem: &p, options: &Options{Executor: "sim", Jobs: 1}, machine: machineOf(part)}
		r, err := e.route(family(t, "all-pairs"), script.Params{"pieces": pieces, "phases": 2})
		if err != nil {
			t.Fatal(err)
		}
		built, err := e.compile(t.Context(), &draft{name: "all-pairs", routing: r, instances: 1})
		if err != nil || built.refusal != nil {
			t.Fatal(err, built.refusal)
		}
		prepared, err := sim.Prepare(built.program, part)
		if err != nil {
			t.Fatal(err)
		}
		result, err := prepared.Run(sim.Knobs{Bytes: size, Protocol: topologies.Simple, TileBytes: 2 << 20, ElemBytes: 4})
		if err != nil {
			t.Fatal(err)
		}
		took[pieces] = result.TimeUS
	}
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: len(part.Ranks), Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := bounds.Of(t.Context(), part, c)
	if err != nil {
		t.Fatal(err)
	}
	if near := bound.TimeUS(size) / took[64]; near < 0.7 || took[64] > 0.85*took[8] {
		t.Errorf("64 pieces take %.0f us, %.2f of the bound, 8 take %.0f: want 0.7 of the bound and 0.85 of the time", took[64], near, took[8])
	}
}
