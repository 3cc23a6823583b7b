package search

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		least, most int64
		step        int
		want        []int64
	}{
		{1024, 8192, 2, []int64{1024, 2048, 4096, 8192}},
		{1024, 8000, 2, []int64{1024, 2048, 4096}},
		{8, 8, 2, []int64{8}},
		{1, 1000, 10, []int64{1, 10, 100, 1000}},
		{1 << 49, 1 << 50, 1 << 62, []int64{1 << 49}}, // no overflow past the end
		{1 << 50, 1 << 50, 2, []int64{1 << 50}},
		{1 << 50, 1<<50 + 1, 2, nil},
		{0, 8, 2, nil},
		{16, 8, 2, nil},
		{8, 16, 1, nil},
	} {
		got, err := Sizes(c.least, c.most, c.step)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("Sizes(%d, %d, %d) = %v, %v; want %v", c.least, c.most, c.step, got, err, c.want)
		}
	}
}

// TestFewerSlotsThanUsual: on a system whose protocols have one slot, programs
// are compiled for one, and none is refused for needing more.
func TestFewerSlotsThanUsual(t *testing.T) {
	text, _ := topologies.Source("dgx-a100")
	one := strings.Replace(string(text), "slots       = 2", "slots       = 1", 1)
	top, err := topologies.Read("one-slot.toml", []byte(one), topologies.Options{})
	if err != nil || top.Protocols[topologies.Simple].Slots != 1 {
		t.Fatal(err)
	}
	p := Problem{Topology: top, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{1 << 20}}
	o := Options{Families: []string{"ring", "recursive-halving-doubling"}, Instances: 2, Executor: "sim", Protocols: []topologies.Proto{topologies.Simple}}
	space, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := program.ByReason(space.Refusals)[string(program.Slots)]; n > 0 || len(space.Candidates) < 5 {
		t.Errorf("%d candidates, %d refused for slots", len(space.Candidates), n)
	}
	for _, c := range space.Candidates {
		if c.Program != nil && c.SlotsNeeded > 1 {
			t.Errorf("%s %v ×%d needs %d slots", c.Algorithm, c.Parameters, c.Instances, c.SlotsNeeded)
		}
	}
}
