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
		m := &machine{Topology: resolve(t, name), shortestUS: calls}
		held := func(of string, is float64) {
			l := limitsOf(of, m)
			if !(l.at[least] <= is && is <= l.at[most]) || math.IsInf(l.at[least], -1) || math.IsInf(l.at[most], 1) || l.because[least] == "" || l.because[most] == "" {
				t.Errorf("%s, %s %v: %+v", name, of, m.kind, l)
			}
		}
		held(launch, 0)
		held(threadblocks, 1)
		for _, m.kind = range m.Kinds() {
			held(links, 1)
		}
	}
	m := &machine{Topology: resolve(t, "mi300x"), shortestUS: calls}
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

	// A link that is from a data sheet is as fast as its generation, and a guess as its kind, but
	// what joins processors was never in one.
	for _, c := range []struct {
		system  string
		kind    topologies.LinkKind
		guessed bool
		want    float64
	}{
		{"l40s-8", topologies.PCIe, false, 31.5 / 24},
		{"l40s-8", topologies.PCIe, true, 4},
		{"rtx-pro-6000-8", topologies.PCIe, true, 126. / 48},
		{"l40s-8", topologies.Host, false, 16},
		{"dgx-a100", topologies.NVLink, false, 1},
		{"dgx-a100", topologies.NVLink, true, 2},
	} {
		m := &machine{Topology: resolve(t, c.system), kind: c.kind}
		if c.guessed {
			m.guesses = []topologies.LinkKind{c.kind}
		}
		near(c.system+" "+c.kind.String(), limitsOf(links, m).at[most], c.want)
	}
}
