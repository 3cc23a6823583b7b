package library_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// TestShipped: what was measured of RCCL on Frontier comes before any model, at the sizes measured
// and where it is asked for, and other sizes over Slingshot are said to scatter.
func TestShipped(t *testing.T) {
	system, err := topologies.Resolve("frontier", topologies.Options{Nodes: 64})
	if err != nil {
		t.Fatal(err)
	}
	slower := system.Calibrated(topologies.Calibration{Launch: 1}) // no longer the catalogue's
	for _, c := range []struct {
		system  *topologies.Topology
		options library.Options
		want    float64
	}{
		{system, library.Options{Shipped: true}, 26278.2},
		{system, library.Options{}, 0},
		{slower, library.Options{Shipped: true}, 0},
	} {
		var said []string
		b := program.New(program.Target{Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Topology: c.system, InPlace: true}, program.Options{Solver: "pb"})
		chosen, err := library.New(b, c.options, func(s string) { said = append(said, s) }).Choose(t.Context(), []int64{512 << 20})
		b.Close()
		if err != nil || len(chosen.Times) != 1 {
			t.Fatal(chosen.Times, err)
		}
		if at := chosen.Times[0]; c.want > 0 && (at.US != c.want || at.From != library.Shipped || at.Evidence != nccl.Measured) || c.want == 0 && at.From == library.Shipped {
			t.Errorf("%+v", at)
		}
		scatters := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "slingshot over 64 nodes and more: ") })
		if scatters != (c.options.Shipped && c.want == 0) {
			t.Errorf("said %q", said)
		}
	}
}
