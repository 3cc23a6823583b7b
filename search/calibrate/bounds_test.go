package calibrate

import (
	"math"
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestLimits: every constant has both limits, around what the file says, each with its
// reason; and of several the tightest holds.
func TestLimits(t *testing.T) {
	for _, name := range topologies.Names() {
		m := &machine{resolve(t, name), 20}
		for _, of := range []string{launch, threadblocks, links} {
			l := limitsOf(of, m)
			is := 1.0
			if of == launch {
				is = 15
			}
			if !(l.at[least] <= is && is <= l.at[most] && l.at[least] >= 0) || math.IsInf(l.at[most], 1) || l.because[least] == "" || l.because[most] == "" {
				t.Errorf("%s, %s: %+v", name, of, l)
			}
		}
	}
	m := &machine{resolve(t, "mi300x"), 20}
	if got := limitsOf(launch, m).at[most]; got != 20 {
		t.Errorf("launch at most %g us, and a call takes 20", got)
	}
	if got, want := m.sends(), 46.5/20.65; math.Abs(got-want) > 1e-9 {
		t.Errorf("threadblocks at most %g times as fast, not %g", got, want)
	}
	if m.shortestUS = 1000; limitsOf(launch, m).at[most] != 80 {
		t.Errorf("launch at most %g us on 8 GPUs", limitsOf(launch, m).at[most])
	}
}
