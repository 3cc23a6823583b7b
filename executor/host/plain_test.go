package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

func TestPlainSocketInThePrivateFolder(t *testing.T) {
	h := executortest.Start(t, "plain-inside", host.Options{})
	if m, err := h.Run(t.Context(), executortest.Trial(t, 8)); err != nil || m.TimesUS[0] != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, name := range []string{"plain-elsewhere", "plain-tcp"} {
		_, err := host.Start(t.Context(), name, executortest.Quick(t, host.Options{Starts: 1}))
		if !errors.Is(err, executor.ErrLost) || !strings.Contains(err.Error(), "shows no certificate") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
