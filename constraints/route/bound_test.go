package route

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestUnitAboveTheLinks says what keeps chunks from going anywhere.
func TestUnitAboveTheLinks(t *testing.T) {
	top := topotest.Resolve(t, "ring:4@50GB/s", 0)
	col, err := collective.New(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(Query{Topology: top, Collective: col, Steps: 2, Rounds: 2, Unit: 100e9})
	if err != nil {
		t.Fatal(err)
	}
	const want = "no way leads from rank 0 to rank 1: a link of less than 100 GB/s, the unit, carries no chunk in a round"
	if r := p.distant(); r == nil || r.Reason != want {
		t.Errorf("%v; want %s", r, want)
	}
}
