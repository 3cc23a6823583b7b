package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

// TestFaults injects one fault a row, and checks the host's error.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes int64
		o     host.Options
		is    error  // nil: the trial is measured
		crash bool   // the error is a CrashError
		says  string // part of the error
	}{
		{name: "panics", crash: true, says: "the device is on fire"},
		{name: "panics-once", bytes: 8},
		{name: "exits", crash: true, says: "exit status 7"},
		{name: "killed", crash: true, says: "signal: killed"},
		{name: "hangs", o: host.Options{TrialTimeout: executortest.Unhurried}, is: executor.ErrTimeout, says: "never told any progress"},
		{name: "stands-still", o: host.Options{StuckAfter: executortest.Unhurried}, is: executor.ErrTimeout, says: "stood still"},
		{name: "freezes", o: host.Options{StuckAfter: 600 * time.Millisecond}, is: executor.ErrTimeout, says: "no heartbeat"},
		{name: "slow", o: host.Options{TrialTimeout: executortest.Unhurried}, is: executor.ErrTimeout, says: "still advancing"},
		{name: "slow", bytes: 6000, o: host.Options{StuckAfter: executortest.Unhurried}}, // longer than that in all
		{name: "floods", bytes: 8},
		{name: "prints-early", bytes: 8},
		{name: "prints-from-c", crash: true, says: "printf of a library"},
		{name: "dies-at-start", is: executor.ErrLost, says: "no such device"},
		{name: "dies-at-start-once", bytes: 8},
		// Started again, it would wait for ever.
		{name: "not-here", o: host.Options{Backoff: time.Hour}, is: executor.ErrUnavailable, says: "executor not-here is not available here: no driver"},
		{name: "set-wrongly", o: host.Options{Backoff: time.Hour}, is: executor.ErrSettings, says: "executor set-wrongly: no such file"},
		{name: "sleeps-at-start", o: host.Options{StartTimeout: 200 * time.Millisecond, Starts: 2}, is: executor.ErrLost, says: "started 2 times"},
		{name: "wrong-version", is: executor.ErrLost, says: "99"},
		{name: "garbage-first", is: executor.ErrLost, says: "NCCL version"},
		{name: "garbage-for-ever", is: executor.ErrLost, says: "lost"},
		{name: "leaves-a-child-and-dies", crash: true, says: "exit status 1"},
		{name: "panics-at-length", crash: true, says: "the first line of a long report"},
		{name: "loses-its-device", bytes: 8},
		{name: "never-finds-its-device", crash: true, says: "illegal address: device lost"},
		{name: "eats", o: host.Options{Memory: executortest.MemoryCap}, crash: true, says: "its cap is 256M"},
		{name: "child-eats", o: host.Options{Memory: executortest.MemoryCap}, crash: true, says: "its cap is 256M"},
		{name: "no-time", says: "without a time"},
		{name: "nan-time", says: "NaN us"},
		{name: "negative", says: "-1 us"},
		{name: "refuses", is: executor.ErrUnsupported, says: "dtype f32"},
		{name: "answers-error", says: "deadlock at gpu 3 tb 1 step 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, err := func() (executor.Measurement, error) {
				h, err := host.Start(t.Context(), tc.name, executortest.Quick(t, tc.o))
				if err != nil {
					return executor.Measurement{}, err
				}
				defer h.Close()
				return h.Run(t.Context(), executortest.Trial(t, tc.bytes))
			}()
			var crash *executor.CrashError
			switch {
			case tc.is == nil && tc.says == "":
				if err != nil || len(m.TimesUS) != 1 {
					t.Errorf("got %+v, %v", m, err)
				}
			case err == nil:
				t.Errorf("measured %+v", m)
			case errors.As(err, &crash) != tc.crash, tc.is != nil && !errors.Is(err, tc.is), !strings.Contains(err.Error(), tc.says):
				t.Errorf("got %v, want %v and %q", err, tc.is, tc.says)
			}
		})
	}
}

// An executor whose device is lost in every trial, whatever the program, is lost after ten
// trials; a measurement in between starts the count again.
func TestDeviceLostAtEveryTrial(t *testing.T) {
	t.Parallel()
	o := executortest.Quick(t, host.Options{})
	o.Backoff = time.Nanosecond // it doubles twenty times
	h, err := host.Start(t.Context(), "never-keeps-its-device", o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lost := func(i int) error {
		other := executortest.Trial(t, 8)
		other.Program.GPUs[0].Scratch = i + 1 // another program
		_, err := h.Run(t.Context(), other)
		return err
	}
	for i := range 9 {
		var crash *executor.CrashError
		if err := lost(i); !errors.As(err, &crash) {
			t.Fatalf("trial %d: %v", i, err)
		}
	}
	if _, err := h.Run(t.Context(), executortest.Trial(t, 4)); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		err := lost(9 + i)
		if last := i == 9; errors.Is(err, executor.ErrLost) != last || last && !strings.Contains(err.Error(), "its device was lost in 10 trials in a row, on 20 processes, last: ") {
			t.Fatalf("trial %d: %v", i, err)
		}
	}
}

func TestWrongResultIsAMeasurement(t *testing.T) {
	m, err := executortest.Start(t, "wrong", host.Options{}).Run(t.Context(), executortest.Trial(t, 8))
	if err != nil || m.Wrong != 17 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// An executor that dies between trials is started again, and no trial fails.
func TestDeathBetweenTrials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := executortest.Start(t, "exits-between", host.Options{Env: []string{executortest.State + "=" + dir}})
	for range 4 {
		if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); err != nil {
			t.Fatal(err)
		}
		answered := filepath.Join(dir, "answered") // and heard: it may go
		if err := os.WriteFile(answered, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		executortest.Within(t, 20*time.Second, func() bool { return !h.Running() })
		if err := os.Remove(answered); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledRunLeavesTheHostUsable(t *testing.T) {
	t.Parallel()
	h := executortest.Start(t, "slow", host.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), executortest.Unhurried)
	defer cancel()
	if _, err := h.Run(ctx, executortest.Trial(t, 0)); !errors.Is(err, executor.ErrTimeout) || !strings.Contains(err.Error(), "still advancing") {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.Run(ctx, executortest.Trial(t, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if m, err := h.Run(t.Context(), executortest.Trial(t, 5)); err != nil || m.TimesUS[0] != 5 {
		t.Errorf("after it: %+v, %v", m, err)
	}
}

func TestCloseTakesTheGroupAndTheSockets(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	h, err := host.Start(t.Context(), "leaves-a-child", host.Options{Env: []string{executortest.State + "=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	executortest.Gone(t, dir, "executor")
	executortest.Gone(t, dir, "grandchild")
	if runtime.GOOS == "linux" {
		executortest.Gone(t, dir, "escaped")
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("run after close: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestKilledHostLeavesNothing(t *testing.T) {
	for _, how := range []string{"host", "host-of-frozen", "host-of-launched"} {
		t.Run(how, func(t *testing.T) { killHost(t, how) })
	}
}

func killHost(t *testing.T, how string) {
	dir, tmp := t.TempDir(), t.TempDir()
	host := exec.Command(os.Args[0], how, dir)
	host.Env = append(os.Environ(), "TMPDIR="+tmp)
	host.Stderr = os.Stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	executortest.Within(t, 20*time.Second, func() bool {
		if b, err := os.ReadFile(filepath.Join(dir, "failed")); err == nil {
			t.Fatalf("host: %s", b)
		}
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
	_ = host.Process.Signal(syscall.SIGKILL)
	_ = host.Wait()
	executortest.Gone(t, dir, "executor")
	executortest.Gone(t, dir, "grandchild")
	if how == "host-of-launched" {
		executortest.Gone(t, dir, "launcher")
		executortest.Gone(t, dir, "launched")
	}
	if runtime.GOOS == "linux" {
		executortest.Gone(t, dir, "escaped")
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
