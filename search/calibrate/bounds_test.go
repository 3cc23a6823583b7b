package calibrate

import (
	"math"
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestLimits: every constant has both limits, around what the file says, each with its
// reason; and of several the tightest holds.
func TestLimits(t *testing.T) {
	calls := [3]float64{30, 31, 32}
	for _, name := range topologies.Names() {
		m := &machine{resolve(t, name), calls}
		for of, is := range map[string]float64{launch: 0, threadblocks: 1, links: 1} {
			l := limitsOf(of, m)
			if !(l.at[least] <= is && is <= l.at[most]) || math.IsInf(l.at[least], -1) || math.IsInf(l.at[most], 1) || l.because[least] == "" || l.because[most] == "" {
				t.Errorf("%s, %s: %+v", name, of, l)
			}
		}
	}
	m := &machine{resolve(t, "mi300x"), calls}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %g, not %g", what, got, want)
		}
	}
	near("the launch of LL", limitsOf(launch, m).at[most], 30-5.6)
	near("threadblocks", m.sends(), 46.5/20.65)
	m.shortestUS = [3]float64{1000, math.Inf(1), 1000}
	near("the launch of Simple on 8 GPUs", limitsOf(launch, m).at[most], 80-6.3)
	near("no launch of LL", limitsOf(launch, m).at[least], -5.6)
}
