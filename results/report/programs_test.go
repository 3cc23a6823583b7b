package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results/table"
)

func TestTrafficSaysWhatRanksSend(t *testing.T) {
	// Round a ring of 4 each rank sends a quarter six times.
	even := irtest.Ring(4, 1, 0, true)
	if got := trafficOf(even, 4); got.Sent != "every rank sends 1.5 × the size" || got.Size != 4 {
		t.Errorf("%q over %d", got.Sent, got.Size)
	}
	// Without its last send rank 0 sends one quarter less than the others.
	odd := irtest.Ring(4, 1, 0, true)
	steps := odd.GPUs[0].Threadblocks[0].Steps
	steps[len(steps)-2].Op = ir.Recv
	if got := trafficOf(odd, 4); got.Sent != "a rank sends 1.25 × the size to 1.5 × the size" {
		t.Errorf("%q", got.Sent)
	}
	for i := range odd.GPUs {
		odd.GPUs[i].Threadblocks = nil
	}
	if got := trafficOf(odd, 4); got != nil {
		t.Errorf("traffic of a program that sends nothing: %+v", got)
	}
}

// The more an algorithm wins, the earlier its colour; of equal ones the name decides.
func TestColours(t *testing.T) {
	var winners table.Table
	for _, name := range []string{"tree", "ring", "ring", "bruck", "ring", "tree", "chain"} {
		winners.Rows = append(winners.Rows, table.Row{Algorithm: name})
	}
	want := map[string]string{"ring": "c1", "tree": "c2", "bruck": "c3", "chain": "c4"}
	if diff := cmp.Diff(want, colours(&winners)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		winners.Rows = append(winners.Rows, table.Row{Algorithm: name})
	}
	if got := colours(&winners); len(got) != palette+1 || got["e"] != got["ring"] {
		t.Errorf("colours of %d algorithms: %v", palette+1, got)
	}
}
