package templates

import (
	"testing"

	"github.com/colltune/colltune/compiler/script"
)

// TestWaysOfManyRanks: shortest ways are looked for between all of several hundred
// ranks, of which some are not linked, within the steps that a template has.
func TestWaysOfManyRanks(t *testing.T) {
	f, err := Find(Builtin(), "routed", "")
	if err != nil {
		t.Fatal(err)
	}
	m := script.Even(16, 16) // GPUs of a node have a ring, and those of two nodes a link each
	m.Linked = func(a, b int) bool {
		d := (a - b + 16) % 16
		return a/16 != b/16 || d == 1 || d == 15
	}
	for _, c := range []string{"allreduce", "alltoall", "gatherv"} {
		if yes, why, err := f.Applies(m, c, 0); !yes {
			t.Errorf("%s: %s, %v", c, why, err)
		}
	}
	for _, c := range []string{"broadcast", "gather"} {
		if _, err := f.Trace(m, script.Request{Collective: c, InPlace: c == "broadcast"}, nil); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}
