package nccl_test

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library/nccl"
)

// TestNamesAreThoseOfResults: states and evidence are told by the names that journals have, and read from
// them; another name is no state.
func TestNamesAreThoseOfResults(t *testing.T) {
	if names := lists.Map(nccl.States(), nccl.Registered.String); !slices.Equal(names, results.States()) {
		t.Errorf("states %v, of results %v", names, results.States())
	}
	for _, want := range nccl.States() {
		if got, err := nccl.ParseRegistered(want.String()); got != want || err != nil {
			t.Errorf("%s is read as %s, %v", want, got, err)
		}
	}
	for _, name := range []string{"", "yes", "Window"} {
		if got, err := nccl.ParseRegistered(name); err == nil {
			t.Errorf("%q is read as %s", name, got)
		}
	}
	evidence := lists.Map([]nccl.Evidence{nccl.Measured, nccl.Fitted, nccl.Predicted, nccl.Unknown}, nccl.Evidence.String)
	if !slices.Equal(evidence, results.Evidences()) {
		t.Errorf("evidence %v, of results %v", evidence, results.Evidences())
	}
}
