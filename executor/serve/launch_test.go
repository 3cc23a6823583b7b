package serve_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

func TestLaunched(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes int64
		o     host.Options
		is    error
		crash bool // the error is a CrashError
		says  string
	}{
		{name: "far", bytes: 8},
		{name: "far-talks", bytes: 8},
		{name: "far-labels", bytes: 8},
		{name: "far-once", bytes: 8},
		{name: "far-floods", bytes: 8},
		{name: "far-dies", is: executor.ErrLost, says: "no route to host"},
		{name: "far-dies", is: executor.ErrLost, says: "exit status 255, before colltune answered"},
		{name: "far-silent", o: host.Options{StartTimeout: 300 * time.Millisecond, Starts: 1}, is: executor.ErrLost, says: "lost"},
		{name: "far-panics", crash: true, says: "the device is on fire"},
		{name: "far-exits", crash: true, says: "exit status 7"},
		{name: "far-hangs", o: host.Options{TrialTimeout: executortest.Unhurried}, is: executor.ErrTimeout, says: "never told any progress"},
		{name: "far-still", o: host.Options{StuckAfter: executortest.Unhurried}, is: executor.ErrTimeout, says: "stood still"},
		{name: "far-slow", o: host.Options{TrialTimeout: executortest.Unhurried}, is: executor.ErrTimeout, says: "still advancing"},
		{name: "far-refuses", is: executor.ErrUnsupported, says: "dtype f32"},
		{name: "far-error", says: "deadlock at gpu 3 tb 1 step 2"},
		{name: "far-unknown", is: executor.ErrLost, says: `"nobody"`},
		{name: "far-lonely", is: executor.ErrLost, says: "process 1 of its launch"},
		{name: "far-crowd", is: executor.ErrUnavailable, says: "starts 2 processes"},
		{name: "far-step", is: executor.ErrUnavailable, says: "starts 3 processes"},
		{name: "far-single", is: executor.ErrUnsupported, says: "dtype f32"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, err := func() (executor.Measurement, error) {
				o := executortest.Quick(t, tc.o)
				if tc.o.StartTimeout > 0 {
					name := tc.name + "-hurried"
					l := executortest.Launchers[tc.name]
					if err := executor.Configure(name, executor.Configured{Kind: l.Kind, Launcher: executortest.Shell(l.Line), StartTimeout: tc.o.StartTimeout}); err != nil {
						t.Fatal(err)
					}
					tc.name = name
				}
				h, err := host.Start(t.Context(), tc.name, o)
				if err != nil {
					return executor.Measurement{}, err
				}
				defer h.Close()
				return h.Run(t.Context(), executortest.Trial(t, tc.bytes))
			}()
			var crash *executor.CrashError
			switch {
			case tc.says == "":
				if err != nil || len(m.TimesUS) != 1 || m.TimesUS[0] != 8 {
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

// The launcher is part of the fingerprint.
func TestLaunchedSaysHow(t *testing.T) {
	h := executortest.Start(t, "far", host.Options{})
	d, err := h.Describe(t.Context())
	if err != nil || d.Name != "fake" || d.Fingerprint["device"] != "none" || !strings.HasPrefix(d.Fingerprint["launcher"], "sh -c") {
		t.Errorf("%+v, %v", d, err)
	}
	big := executortest.Trial(t, 8)
	big.Program.Comment = strings.Repeat("x", 1<<20) // many frames, and as long as a comment may be
	if _, err := h.Run(t.Context(), big); err != nil {
		t.Error(err)
	}
}

func TestClosedLaunchLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	h, err := host.Start(t.Context(), "far-children", host.Options{Env: []string{executortest.State + "=" + dir}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"executor", "grandchild", "launched", "launcher"} {
		executortest.Gone(t, dir, name)
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A launcher that is ended early is asked to end before it is killed, because a killed
// srun would keep its nodes.
func TestLauncherIsToldOfItsEnd(t *testing.T) {
	told := func(t *testing.T, dir string) {
		t.Helper()
		executortest.Within(t, 10*time.Second, func() bool {
			_, err := os.Stat(filepath.Join(dir, "told"))
			return err == nil
		})
		executortest.Gone(t, dir, "launcher")
	}
	t.Run("trial given up", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		o := host.Options{TrialTimeout: executortest.Unhurried, Env: []string{executortest.State + "=" + dir}}
		h, err := host.Start(t.Context(), "far-minds", o)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); !errors.Is(err, executor.ErrTimeout) {
			t.Errorf("got %v", err)
		}
		told(t, dir)
	})
	t.Run("start interrupted", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for i := 0; i < 2000; i++ {
				if _, err := os.Stat(filepath.Join(dir, "launcher")); err == nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		if _, err := host.Start(ctx, "far-queued", host.Options{Env: []string{executortest.State + "=" + dir}}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		told(t, dir)
	})
	t.Run("host killed", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		host := exec.Command(os.Args[0], "host-of-minding", dir)
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		executortest.Within(t, 20*time.Second, func() bool {
			_, err := os.Stat(filepath.Join(dir, "launcher"))
			return err == nil
		})
		_ = host.Process.Kill()
		_ = host.Wait()
		told(t, dir)
	})
	// One that starts its launcher itself, in a group of its own.
	t.Run("own launcher", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		executor.RegisterSettings("launches", executor.KindSettings{Names: []string{"tests"}, Launches: "tests"})
		c := executor.Configured{Kind: "launches", Launcher: executortest.Shell(executortest.Minds + `sleep 600 & wait`), Settings: map[string]string{"tests": "/"}}
		if err := executor.Configure("launching", c); err != nil {
			t.Fatal(err)
		}
		h, err := host.Start(t.Context(), "launching", host.Options{TrialTimeout: executortest.Unhurried, Env: []string{executortest.State + "=" + dir}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if _, err := h.Run(t.Context(), executortest.Trial(t, 8)); !errors.Is(err, executor.ErrTimeout) {
			t.Errorf("got %v", err)
		}
		told(t, dir)
	})
}

// A plugin at the far end has a host of its own there.
func TestLaunchedPlugin(t *testing.T) {
	for _, tc := range []struct {
		fault, says string
		bytes       int64
		o           host.Options
	}{
		{fault: "well", bytes: 8},
		{fault: "slow", bytes: 6000, o: host.Options{StuckAfter: executortest.Unhurried}}, // its progress comes all the way
		{fault: "exits", says: "exit status 7"},
		{fault: "refuses", says: "dtype f32"},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "plugin")
			text := fmt.Sprintf("#!/bin/sh\nexec '%s' executor-serve %s\n", os.Args[0], tc.fault)
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			name := "far-plugin-" + tc.fault
			if err := executor.Configure(name, executor.Configured{Kind: path, Launcher: executortest.Shell(`exec "$@"`)}); err != nil {
				t.Fatal(err)
			}
			h := executortest.Start(t, name, tc.o)
			m, err := h.Run(t.Context(), executortest.Trial(t, tc.bytes))
			if tc.says == "" && (err != nil || len(m.TimesUS) != 1) || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("%+v, %v; want %q", m, err, tc.says)
			}
			var crash *executor.CrashError
			if tc.fault == "exits" && !errors.As(err, &crash) {
				t.Errorf("no crash to the host here: %v", err)
			}
		})
	}
}

// The far end ends at the end of its input, also during a trial.
func TestFarEndEndsWithItsInput(t *testing.T) {
	far := exec.Command(os.Args[0], "executor-serve-stdio", "hangs")
	in, err := far.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := far.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := far.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Process.Signal(syscall.SIGKILL) }()
	b := make([]byte, 64)
	if n, err := out.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "\ncolltune-frame 0 ") {
		t.Fatalf("said %q, %v", b[:n], err)
	}
	in.Close()
	ended := make(chan error, 1)
	go func() { ended <- far.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("still there")
	}
}

// A far end whose connection was cut sees no end of its input: it ends after its host
// has been silent for a time.
func TestFarEndEndsWithoutItsHost(t *testing.T) {
	t.Parallel()
	far := exec.Command(os.Args[0], "executor-serve-stdio", "hangs")
	far.Env = append(os.Environ(), executortest.Silence+"=2s")
	in, err := far.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var says strings.Builder
	far.Stderr = &says
	if err := far.Run(); err == nil || !strings.Contains(says.String(), "its host has not answered for 2s") {
		t.Errorf("%v, said %q", err, says.String())
	}
}

func TestConfigureRefuses(t *testing.T) {
	executor.RegisterSettings("well", executor.KindSettings{Names: []string{"tests"}, Launches: "tests"})
	for name, tc := range map[string]struct {
		c    executor.Configured
		says string
	}{
		"a/b":   {executor.Configured{}, "without slashes"},
		"exits": {executor.Configured{Kind: "well"}, "exits is built in"},
		"mine":  {executor.Configured{Kind: "well", Command: "/x"}, "no launcher"},
		"other": {executor.Configured{Kind: "well", Settings: map[string]string{"color": "red"}}, `no setting "color"`},
	} {
		if err := executor.Configure(name, tc.c); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want %q", name, err, tc.says)
		}
	}
	if err := executor.Configure("nowhere", executor.Configured{Kind: "well", Launcher: []string{"no-such-launcher"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Start(t.Context(), "nowhere", host.Options{}); !errors.Is(err, executor.ErrNotFound) || !strings.Contains(err.Error(), "no-such-launcher") {
		t.Errorf("got %v", err)
	}
}

// A kind that starts the launcher itself runs on this machine, and is given the
// launcher's command.
func TestOwnLauncher(t *testing.T) {
	executor.RegisterSettings("tells-settings", executor.KindSettings{Names: []string{"tests", "note"}, Launches: "tests"})
	c := executor.Configured{Kind: "tells-settings", Launcher: []string{"srun", "-N 2"}, Settings: map[string]string{"tests": "/opt/tests"}, Env: []string{"COLLTUNE_EXECUTOR_EXTRA=1"}}
	if err := executor.Configure("own", c); err != nil {
		t.Fatal(err)
	}
	h := executortest.Start(t, "own", host.Options{})
	m, err := h.Run(t.Context(), executortest.Trial(t, 8))
	if want := "/opt/tests [srun -N 2] 1"; err != nil || m.Note != want {
		t.Errorf("%q, %v; want %q", m.Note, err, want)
	}
	if d, _ := h.Describe(t.Context()); d.Fingerprint["environment"] != "COLLTUNE_EXECUTOR_EXTRA=1" || d.Fingerprint["launcher"] != "" {
		t.Errorf("fingerprint %v", d.Fingerprint)
	}
	// Without its own programs it is launched as any other, settings and all.
	c.Launcher, c.Settings = executortest.Shell(`unset COLLTUNE_EXECUTOR_SETTINGS; exec "$@"`), map[string]string{"note": "with 'quotes' and blanks"}
	if err := executor.Configure("far-own", c); err != nil {
		t.Fatal(err)
	}
	m, err = executortest.Start(t, "far-own", host.Options{}).Run(t.Context(), executortest.Trial(t, 8))
	if want := " [] 1with 'quotes' and blanks"; err != nil || m.Note != want {
		t.Errorf("%q, %v; want %q", m.Note, err, want)
	}
}
