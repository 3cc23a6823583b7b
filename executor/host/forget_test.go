package host_test

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

// Documents that an executor has forgotten are sent again, and no others.
func TestForgottenDocumentsAreSentAgain(t *testing.T) {
	h := executortest.Start(t, "forgets", host.Options{})
	for _, want := range []string{"2", "4", "6"} {
		m, err := h.Run(t.Context(), executortest.Trial(t, 8))
		if err != nil || m.Note != want {
			t.Errorf("%s documents sent (%v), want %s", m.Note, err, want)
		}
	}
}

func TestStrangersErrors(t *testing.T) {
	for name, says := range map[string]string{
		"forgets-always": "is not loaded",
		"ends-early":     "without a measurement",
	} {
		_, err := executortest.Start(t, name, host.Options{}).Run(t.Context(), executortest.Trial(t, 8))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", name, err, says)
		}
	}
}
