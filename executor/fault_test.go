package executor_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
)

// unhurried is a deadline within which even a machine with much else to do
// starts a trial and hears of its progress.
const unhurried = 5 * time.Second

// Each row injects one fault and says what the host makes of it.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes int64
		o     executor.HostOptions
		is    error  // nil: the trial is measured
		says  string // part of the error
	}{
		{name: "panics", is: executor.ErrQuarantined, says: "the device is on fire"},
		{name: "panics-once", bytes: 8},
		{name: "exits", is: executor.ErrQuarantined, says: "exit status 7"},
		{name: "killed", is: executor.ErrQuarantined, says: "signal: killed"},
		{name: "hangs", o: executor.HostOptions{TrialTimeout: unhurried}, is: executor.ErrTimeout, says: "never told any progress"},
		{name: "stands-still", o: executor.HostOptions{StuckAfter: unhurried}, is: executor.ErrTimeout, says: "stood still"},
		{name: "freezes", o: executor.HostOptions{StuckAfter: 600 * time.Millisecond}, is: executor.ErrTimeout, says: "no heartbeat"},
		{name: "slow", o: executor.HostOptions{TrialTimeout: unhurried}, is: executor.ErrTimeout, says: "still advancing"},
		{name: "slow", bytes: 6000, o: executor.HostOptions{StuckAfter: unhurried}}, // longer than that in all
		{name: "floods", bytes: 8},
		{name: "prints-early", bytes: 8},
		{name: "prints-from-c", is: executor.ErrQuarantined, says: "printf of a library"},
		{name: "dies-at-start", is: executor.ErrLost, says: "no such device"},
		{name: "dies-at-start-once", bytes: 8},
		// Started again, it would wait for ever.
		{name: "not-here", o: executor.HostOptions{Backoff: time.Hour}, is: executor.ErrUnavailable, says: "executor not-here is not to be had here: no driver"},
		{name: "sleeps-at-start", o: executor.HostOptions{StartTimeout: 200 * time.Millisecond, Starts: 2}, is: executor.ErrLost, says: "started 2 times"},
		{name: "wrong-version", is: executor.ErrLost, says: "99"},
		{name: "garbage-first", is: executor.ErrLost, says: "NCCL version"},
		{name: "garbage-for-ever", is: executor.ErrLost, says: "lost"},
		{name: "leaves-a-child-and-dies", is: executor.ErrQuarantined, says: "exit status 1"},
		{name: "panics-at-length", is: executor.ErrQuarantined, says: "the first line of a long report"},
		{name: "loses-its-device", bytes: 8},
		{name: "never-finds-its-device", is: executor.ErrQuarantined, says: "illegal address: device lost"},
		{name: "eats", o: executor.HostOptions{Memory: memoryCap}, is: executor.ErrQuarantined, says: "its cap is 256M"},
		{name: "child-eats", o: executor.HostOptions{Memory: memoryCap}, is: executor.ErrQuarantined, says: "its cap is 256M"},
		{name: "no-time", says: "without a time"},
		{name: "nan-time", says: "NaN us"},
		{name: "negative", says: "-1 us"},
		{name: "refuses", is: executor.ErrUnsupported, says: "dtype f32"},
		{name: "answers-error", says: "deadlock at gpu 3 tb 1 step 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.is == executor.ErrQuarantined {
				tc.o.Quarantine = new(executor.Quarantine)
			}
			m, err := func() (executor.Measurement, error) {
				h, err := executor.Start(t.Context(), tc.name, quick(t, tc.o))
				if err != nil {
					return executor.Measurement{}, err
				}
				defer h.Close()
				return h.Run(t.Context(), trial(t, tc.bytes))
			}()
			switch {
			case tc.is == nil && tc.says == "":
				if err != nil || len(m.TimesUS) != 1 {
					t.Errorf("got %+v, %v", m, err)
				}
			case err == nil:
				t.Errorf("measured %+v", m)
			case tc.is != nil && !errors.Is(err, tc.is), !strings.Contains(err.Error(), tc.says):
				t.Errorf("got %v, want %v and %q", err, tc.is, tc.says)
			}
		})
	}
}

// An executor whose device is lost at every trial, whatever the program, is asked no
// more than some ten times; one answer in between shows that the device is there.
func TestDeviceLostAtEveryTrial(t *testing.T) {
	t.Parallel()
	o := quick(t, executor.HostOptions{Quarantine: new(executor.Quarantine)})
	o.Backoff = time.Nanosecond // it doubles twenty times
	h, err := executor.Start(t.Context(), "never-keeps-its-device", o)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	lost := func(i int) error {
		other := trial(t, 8)
		other.Program.GPUs[0].Scratch = i + 1 // another program
		_, err := h.Run(t.Context(), other)
		return err
	}
	for i := range 9 {
		if err := lost(i); !errors.Is(err, executor.ErrQuarantined) {
			t.Fatalf("trial %d: %v", i, err)
		}
	}
	if _, err := h.Run(t.Context(), trial(t, 4)); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		err := lost(9 + i)
		if last := i == 9; errors.Is(err, executor.ErrLost) != last || last && !strings.Contains(err.Error(), "its device was lost in 10 trials in a row, on 20 processes, last: ") {
			t.Fatalf("trial %d: %v", i, err)
		}
	}
}

// Without a quarantine every trial of such a program is tried, twice.
func TestCrashWithoutQuarantine(t *testing.T) {
	h := start(t, "exits", executor.HostOptions{})
	for range 2 {
		_, err := h.Run(t.Context(), trial(t, 8))
		var crash *executor.CrashError
		if !errors.As(err, &crash) || crash.Exit != "exit status 7" || errors.Is(err, executor.ErrQuarantined) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWrongResultIsAMeasurement(t *testing.T) {
	m, err := start(t, "wrong", executor.HostOptions{}).Run(t.Context(), trial(t, 8))
	if err != nil || m.Wrong != 17 {
		t.Errorf("got %+v, %v", m, err)
	}
}

// A program in quarantine is refused at once, by every host that shares the
// quarantine, and other programs are still run.
func TestQuarantineIsShared(t *testing.T) {
	var q executor.Quarantine
	bad := start(t, "exits", executor.HostOptions{Quarantine: &q})
	if _, err := bad.Run(t.Context(), trial(t, 8)); !errors.Is(err, executor.ErrQuarantined) {
		t.Fatalf("got %v", err)
	}
	good := start(t, "well", executor.HostOptions{Quarantine: &q})
	_, err := good.Run(t.Context(), trial(t, 8))
	var quarantined *executor.QuarantineError
	if !errors.As(err, &quarantined) || quarantined.Strikes != 2 {
		t.Errorf("got %v", err)
	}
	other := trial(t, 8)
	other.Program.GPUs[0].Scratch = 1
	if _, err := good.Run(t.Context(), other); err != nil {
		t.Errorf("another program: %v", err)
	}
}

// An executor that dies between trials costs nobody anything.
func TestDeathBetweenTrials(t *testing.T) {
	t.Parallel()
	var q executor.Quarantine
	dir := t.TempDir()
	h := start(t, "exits-between", executor.HostOptions{Quarantine: &q, Env: []string{state + "=" + dir}})
	for range 4 {
		if _, err := h.Run(t.Context(), trial(t, 8)); err != nil {
			t.Fatal(err)
		}
		answered := filepath.Join(dir, "answered") // and heard: it may go
		if err := os.WriteFile(answered, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		within(t, 20*time.Second, func() bool { return !h.Running() })
		if err := os.Remove(answered); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCancelledRunLeavesTheHostUsable(t *testing.T) {
	t.Parallel()
	h := start(t, "slow", executor.HostOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	if _, err := h.Run(ctx, trial(t, 0)); !errors.Is(err, executor.ErrTimeout) || !strings.Contains(err.Error(), "still advancing") {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.Run(ctx, trial(t, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if m, err := h.Run(t.Context(), trial(t, 5)); err != nil || m.TimesUS[0] != 5 {
		t.Errorf("after it: %+v, %v", m, err)
	}
}

func TestCloseTakesTheGroupAndTheSockets(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	h, err := executor.Start(t.Context(), "leaves-a-child", executor.HostOptions{Env: []string{state + "=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), trial(t, 8)); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, dir, "executor")
	gone(t, dir, "grandchild")
	if runtime.GOOS == "linux" {
		gone(t, dir, "escaped")
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := h.Run(t.Context(), trial(t, 8)); !errors.Is(err, executor.ErrClosed) {
		t.Errorf("run after close: %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// hostToBeKilled starts an executor that has a child of its own, says so in
// dir, and waits for its end.
func hostToBeKilled(dir string, frozen bool, name string) {
	h, err := executor.Start(context.Background(), name, executor.HostOptions{Env: []string{state + "=" + dir}})
	if err == nil {
		_, err = h.Run(context.Background(), trial(&testing.T{}, 8))
	}
	if err != nil {
		_ = os.WriteFile(filepath.Join(dir, "failed"), []byte(err.Error()), 0o600)
		os.Exit(1)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "executor")); err == nil && frozen {
		pid, _ := strconv.Atoi(string(b))
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		for !stopped(pid) {
			time.Sleep(time.Millisecond)
		}
	}
	leave2(dir, "ready")
	select {}
}

// stopped reports whether all threads of a process stand still, as far as the
// system tells. Its orphans are woken where they do, and not where they are about
// to.
func stopped(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, thread := range threads {
		b, _ := os.ReadFile(thread)
		if _, after, _ := strings.Cut(string(b), ") "); !strings.HasPrefix(after, "T") {
			return false
		}
	}
	return true
}

func leave2(dir, name string) { _ = os.WriteFile(filepath.Join(dir, name), nil, 0o600) }

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
	within(t, 20*time.Second, func() bool {
		if b, err := os.ReadFile(filepath.Join(dir, "failed")); err == nil {
			t.Fatalf("host: %s", b)
		}
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
	_ = host.Process.Signal(syscall.SIGKILL)
	_ = host.Wait()
	gone(t, dir, "executor")
	gone(t, dir, "grandchild")
	if how == "host-of-launched" {
		gone(t, dir, "launcher")
		gone(t, dir, "launched")
	}
	if runtime.GOOS == "linux" {
		gone(t, dir, "escaped")
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// gone checks that the process whose pid is in dir/name ends: within two seconds,
// it is promised, and in fifteen times that on a busy machine; those of the tests
// would live for hours.
func gone(t *testing.T, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	within(t, 30*time.Second, func() bool { return ended(pid) })
}

// ended reports whether a process is gone, or a zombie nobody has buried.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return os.IsNotExist(err)
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z")
}

// within waits for something to happen. It counts its own turns and no clock:
// on a machine with much else to do it is held up as what it waits for is.
func within(t *testing.T, d time.Duration, done func() bool) {
	t.Helper()
	const turn = 10 * time.Millisecond
	for turns := d / turn; !done(); turns-- {
		if turns == 0 {
			t.Fatalf("not within %s", d)
		}
		time.Sleep(turn)
	}
}
