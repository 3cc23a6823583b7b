package program_test

import (
	"strconv"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
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
	f, err := templates.Find(templates.Builtin(), "all-pairs", "allreduce")
	if err != nil {
		t.Fatal(err)
	}
	first := func(_ *templates.Family, grid []script.Params) script.Params { return grid[0] }
	took := map[int]float64{} // by pieces
	for _, pieces := range []int{8, 64} {
		b := program.New(program.Target{Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Topology: part, InPlace: true}, program.Options{Simulated: true, Jobs: 1})
		d, why, err := b.Only(t.Context(), f, map[string]string{"pieces": strconv.Itoa(pieces), "phases": "2"}, 1, first)
		if err != nil || d == nil {
			t.Fatal(err, why)
		}
		built, err := b.Build(t.Context(), d)
		b.Close()
		if err != nil || built.Refusal != nil {
			t.Fatal(err, built.Refusal)
		}
		prepared, err := sim.Prepare(built.Program, part)
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
