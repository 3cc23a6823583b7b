package cuda

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
)

// TestInItsProcess has the plugin host start the back end as a campaign would:
// the fake driver's library is loaded in the executor's process.
func TestInItsProcess(t *testing.T) {
	t.Setenv(driver.LibraryVariable, fakeLibrary(t))
	for _, tc := range []struct {
		settings, says string
	}{
		{"devices=2", ""},
		{"fail=cuMemAlloc_v2:1:2", "out of memory"},
		{"devices=0", "no CUDA-capable device"},
		// The process is replaced, and the next one, in which it is the same,
		// ends the trial.
		{"fail=cuStreamQuery:2:719", "device lost"},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			t.Setenv("COLLTUNE_EXECUTOR_FAKE_CUDA", tc.settings)
			ctx := context.Background()
			h, err := executor.Start(ctx, "cuda", executor.HostOptions{})
			if err == nil {
				defer h.Close()
				var m executor.Measurement
				if m, err = h.Run(ctx, trialOfPair(t)); err == nil && (m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 3) {
					t.Errorf("measured %+v", m)
				}
			}
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want one that says %q", err, tc.says)
			case tc.says == "no CUDA-capable device" && !errors.Is(err, executor.ErrUnavailable):
				t.Errorf("%v does not say that it is not to be had here", err)
			}
		})
	}
}
