package table

import (
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/google/go-cmp/cmp"
)

// TestCurves holds each algorithm to its own best at each size: of several knobs
// the fastest, of references and wrong programs nothing.
func TestCurves(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(2048, 1024))
	ring, other := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 1, 1, true)
	slow := resultstest.Trial(t, c, ring, "ring", "Simple", 2<<20, 1024, 9)
	fast := resultstest.Trial(t, c, ring, "ring", "LL", 32768, 1024, 4, 5, 6)
	tree := resultstest.Trial(t, c, other, "tree", "LL", 32768, 1024, 5)
	ahead := resultstest.Trial(t, c, other, "tree", "LL", 32768, 2048, 7)
	behind := resultstest.Trial(t, c, ring, "ring", "LL", 32768, 2048, 8)
	reference := resultstest.Trial(t, c, irtest.Ring(4, 1, 2, true), "vendor", "LL", 32768, 1024, 1)
	reference.Reference = true
	wrong := resultstest.Trial(t, c, irtest.Ring(4, 1, 3, true), "liar", "LL", 32768, 1024, 1)
	wrong.Outcome = results.Wrong
	resultstest.Append(t, c, slow, tree, fast, behind, ahead, reference, wrong)
	want := []Curve{
		{"in", "ring", "template", []CurvePoint{{1024, 5, true}, {2048, 8, false}}},
		{"in", "tree", "template", []CurvePoint{{1024, 5, false}, {2048, 7, true}}},
	}
	got := Curves(c)
	if got[1].Points[0].Wins { // equal times: settled by name
		t.Error("both win at 1024 bytes")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
