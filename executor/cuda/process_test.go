package cuda

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
	"github.com/colltune/colltune/executor/host"
)

// TestInItsProcess has the plugin host start the executor as a campaign would:
// the fake driver's library is loaded in the executor's process.
func TestInItsProcess(t *testing.T) {
	t.Setenv(driver.LibraryVariable, fakeLibrary(t))
	t.Setenv(nvrtc.LibraryVariable, filepath.Join(t.TempDir(), "libnvrtc.so"))
	for _, tc := range []struct {
		settings, says string
	}{
		{"devices=2", ""},
		{"fail=cuMemAlloc_v2:1:2", "out of memory"},
		{"devices=0", "executor cuda is not available here: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device"},
		// What another start does not change is told at the first.
		{"fail=cuInit:1:803", "executor cuda is not available here: cuInit: CUDA_ERROR_OF_THE_TEST (803)"},
		{"load=0", "executor cuda is not available here: device 0, Fake 0: cuModuleLoadDataEx: CUDA_ERROR_OF_THE_TEST (218)"},
		// The process is replaced, and the next one, in which it is the same,
		// ends the trial.
		{"fail=cuStreamQuery:2:719", "device lost"},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			t.Setenv("COLLTUNE_EXECUTOR_FAKE_CUDA", tc.settings)
			ctx := context.Background()
			h, err := host.Start(ctx, "cuda", host.Options{})
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
			case strings.Contains(tc.says, "not available here") != errors.Is(err, executor.ErrUnavailable):
				t.Errorf("%v: unavailable is %v", err, errors.Is(err, executor.ErrUnavailable))
			}
		})
	}
}
