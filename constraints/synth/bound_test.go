package synth

import (
	"context"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestUnitAboveTheLinks: with a unit above every link's bandwidth no chunk can move, and
// the answer says why.
func TestUnitAboveTheLinks(t *testing.T) {
	top := topotest.Resolve(t, "ring:4@50GB/s", 0)
	col, err := collective.New(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(context.Background(), Query{Topology: top, Collective: col, Steps: 2, Rounds: 2, Unit: 100e9})
	if err != nil {
		t.Fatal(err)
	}
	const want = "no way leads from rank 0 to rank 1: a link of less than 100 GB/s, the unit, carries no chunk in a round: want a unit of at most 50 GB/s"
	if r := p.outOfReach(); r == nil || r.Reason != want {
		t.Errorf("%v; want %s", r, want)
	}
	// The same reason is given for a reduction, instead of "nothing to do".
	if col, err = collective.New(collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Frontier(t.Context(), open(t, "pb"), Query{Topology: top, Collective: col, Unit: 100e9}, FrontierOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}
