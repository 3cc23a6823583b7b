package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

func TestMain(m *testing.M) { executortest.Main(m) }

func TestRun(t *testing.T) {
	h := executortest.Start(t, "well", host.Options{})
	d, err := h.Describe(t.Context())
	if err != nil || d.Name != "fake" || d.MaxRanks != 4 || d.Fingerprint["device"] != "none" || len(d.Protocols) != 2 || !d.Deterministic {
		t.Errorf("description %+v, %v", d, err)
	}
	for _, bytes := range []int64{8, 1024} {
		m, err := h.Run(t.Context(), executortest.Trial(t, bytes))
		if err != nil || len(m.TimesUS) != 1 || m.TimesUS[0] != float64(bytes) || !m.Checked || m.Note != "two" {
			t.Errorf("%d bytes: %+v, %v", bytes, m, err)
		}
	}
}

// Hosts that share an identity have one executor: one with another description is lost to
// the second host, and the first goes on.
func TestHostsShareAnIdentity(t *testing.T) {
	one := new(host.Identity)
	h := executortest.Start(t, "well", host.Options{Identity: one})
	executortest.Start(t, "well", host.Options{Identity: one})
	_, err := host.Start(t.Context(), "far", executortest.Quick(t, host.Options{Identity: one})) // its launcher is in its fingerprint
	if !errors.Is(err, executor.ErrLost) || !strings.Contains(err.Error(), "came back changed: ") {
		t.Errorf("got %v", err)
	}
	if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); err != nil {
		t.Error(err)
	}
}
