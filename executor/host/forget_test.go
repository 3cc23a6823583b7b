package host_test

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

func TestForgottenDocumentsAreSentAgain(t *testing.T) {
	h := executortest.Start(t, "forgets", host.Options{})
	for _, want := range []string{"2", "4", "6"} {
		m, err := h.Run(t.Context(), executortest.Trial(t, 8))
		if err != nil || m.Note != want {
			t.Errorf("%s documents sent (%v), want %s", m.Note, err, want)
		}
	}
}

// A program that is still loaded is not sent again because another trial's documents are.
func TestLoadedDocumentsAreNotSentAgain(t *testing.T) {
	h := executortest.Start(t, "forgets-later", host.Options{})
	one, other := executortest.Trial(t, 8), executortest.Trial(t, 8)
	other.Program.Protocol = "Simple"
	for i, step := range []struct {
		trial executor.Trial
		sent  string
	}{
		{one, "2"},
		{other, "3"}, // the topology is used up
		{one, "5"},
		{other, "5"},
	} {
		m, err := h.Run(t.Context(), step.trial)
		if err != nil || m.Note != step.sent {
			t.Errorf("trial %d: %s documents sent (%v), want %s", i, m.Note, err, step.sent)
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
