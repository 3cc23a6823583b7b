package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/serve"
	"github.com/colltune/colltune/executor/sim"
)

// sick is the simulator with a fault that programs of sickFamily trigger.
type sick struct {
	executor.Executor
	fault string
	lost  bool
}

const sickFamily = "ring"

// leaveMark leaves a marker file for later processes of the same campaign, and reports
// whether this process is the first to leave it.
func leaveMark(name string) bool {
	f, err := os.OpenFile(filepath.Join(os.Getenv("COLLTUNE_EXECUTOR_STATE"), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprint(f, os.Getpid())
		f.Close()
	}
	return err == nil
}

// marked reports whether a process has left the marker file.
func marked(name string) bool {
	_, err := os.Stat(filepath.Join(os.Getenv("COLLTUNE_EXECUTOR_STATE"), name))
	return err == nil
}

// serveSick is a sick executor's main.
func serveSick(fault string) {
	leaveMark("started")
	if marked("faulty") {
		switch fault {
		case "wrong-version-once":
			if leaveMark("recovered") {
				fmt.Println("1|99|unix|/nowhere|grpc")
				os.Exit(0)
			}
		case "garbled-handshake-once":
			if leaveMark("recovered") {
				fmt.Println("NCCL version 2.28.3+cuda13.0")
				os.Exit(0)
			}
		case "does-not-restart":
			fmt.Fprintln(os.Stderr, "no such device")
			os.Exit(1)
		}
	}
	serve.Main(&sick{Executor: sim.New(), fault: fault})
}

func (s *sick) Describe(ctx context.Context) (executor.Description, error) {
	d, err := s.Executor.Describe(ctx)
	d.Name = "sick"
	if s.fault == "other-fingerprint" && marked("faulty") {
		d.Fingerprint = map[string]string{"device": "another"}
	}
	return d, err
}

func (s *sick) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if s.lost {
		return executor.Measurement{}, fmt.Errorf("illegal address: %w", executor.ErrDeviceLost)
	}
	m, err := s.Executor.Run(ctx, t)
	if err != nil || t.Program.Name != sickFamily {
		return m, err
	}
	leaveMark("faulty")
	campaign := filepath.Join(os.Getenv("COLLTUNE_EXECUTOR_STATE"), "c")
	switch s.fault {
	case "renames":
		_ = os.Rename(campaign, campaign+"2")
	case "removes":
		_ = os.RemoveAll(campaign)
	case "fails":
		return m, errors.New("no luck")
	case "panics":
		panic("the device is on fire")
	case "exits", "wrong-version-once", "garbled-handshake-once", "does-not-restart", "other-fingerprint":
		os.Exit(7)
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "hangs":
		select {}
	case "stopped":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // this thread may be stopped last
	case "sleeps":
		time.Sleep(time.Hour) // beyond any deadline of these tests
	case "no-time":
		m.TimesUS = nil
	case "time-near-zero":
		m.TimesUS = []float64{5e-324}
	case "time-near-infinity":
		m.TimesUS = []float64{1e308}
	case "too-many-times":
		m.TimesUS = slices.Repeat(m.TimesUS, 100_000)
	case "time-is-nan":
		m.TimesUS = []float64{math.NaN()}
	case "wrong-elements":
		m = executor.Measurement{TimesUS: []float64{m.TimesUS[0] / 1.01}, Wrong: 3, Checked: true}
	case "floods-its-output":
		line := bytes.Repeat([]byte("x"), 1<<20) // 1 MiB without an end of line: far more than is kept
		for range 2 {
			_, _ = os.Stdout.Write(line)
			_, _ = os.Stderr.Write(line)
		}
	case "leaves-a-child":
		c := exec.Command("sleep", "600")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return m, err
		}
		_ = os.WriteFile(filepath.Join(os.Getenv("COLLTUNE_EXECUTOR_STATE"), "child"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
	case "exceeds-its-memory": // three times its cap; a busy host sees it late, so that it stops there
		kept := make([]byte, 600<<20)
		for i := 0; i < len(kept); i += 4096 {
			kept[i] = 1
		}
		for {
			time.Sleep(time.Hour)
			runtime.KeepAlive(kept)
		}
	case "loses-its-device":
		s.lost = true
		return m, fmt.Errorf("illegal address: %w", executor.ErrDeviceLost)
	}
	return m, nil
}

// campaignOf starts a search on a sick executor in a folder of its own.
func campaignOf(t *testing.T, dir, fault, memory string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=sick-%s exec '%s' serve-fault\n", pluginEnv, fault, self)
	settings := "[executor.sick]\nkind = \"./plugin\"\n"
	if memory != "" {
		settings += "memory = \"" + memory + "\"\n"
	}
	for name, text := range map[string]string{"plugin": script, "colltune.toml": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"colltune"}, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COLLTUNE_EXECUTOR_STATE="+dir, "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return cmd
}

var sickSearch = []string{"search", "-t", "fullmesh:4", "-c", "allreduce", "-b", "1K", "-e", "1K", "--protocol", "LL", "--family", "ring,all-pairs,recursive-doubling", "--instances", "1", "--channels", "1", "--executor", "sick", "--campaign", "c"}

// ended is the result of a command.
type ended struct {
	code           int
	stdout, stderr string
}

// runFor runs a command to its end.
func runFor(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// winners returns the winning table of the campaign in dir, as CSV.
func winners(t *testing.T, dir, fault string) string {
	t.Helper()
	r := runFor(t, campaignOf(t, dir, fault, "", "results", "c", "-o", "csv"))
	if r.code != 0 {
		t.Fatalf("results: %s", r.stderr)
	}
	return r.stdout
}

// A campaign that meets a fault in each trial of a family completes, has the fault in
// its journal, and has the winners that it has without the failed trials.
func TestCampaignsSurviveFaults(t *testing.T) {
	whole, without := t.TempDir(), t.TempDir()
	for dir, fault := range map[string]string{whole: "none", without: "fails"} {
		if r := runFor(t, campaignOf(t, dir, fault, "", sickSearch...)); r.code != 0 {
			t.Fatalf("%s: exit %d\n%s", fault, r.code, r.stderr)
		}
	}
	all, rest := winners(t, whole, "none"), winners(t, without, "fails")
	if strings.Contains(rest, sickFamily) || !strings.Contains(rest, "1024") {
		t.Fatalf("winners without %s:\n%s", sickFamily, rest)
	}
	// Long enough for a sound trial on a busy machine.
	short := []string{"--timeout", "5s"}
	for _, tc := range []struct {
		fault   string
		flags   []string
		memory  string
		outcome string // of the trials with the fault
		says    string // by these trials in the journal
		want    string // winners
	}{
		{fault: "panics", outcome: "crashed", says: "the device is on fire", want: rest},
		{fault: "exits", outcome: "crashed", says: "exit status 7", want: rest},
		{fault: "killed", outcome: "crashed", says: "signal: killed", want: rest},
		{fault: "hangs", flags: short, outcome: "timeout", says: "never told any progress", want: rest},
		{fault: "stopped", flags: short, outcome: "timeout", says: "never told any progress", want: rest},
		{fault: "sleeps", flags: short, outcome: "timeout", says: "never told any progress", want: rest},
		{fault: "no-time", outcome: "failed", says: "without a time", want: rest},
		{fault: "time-near-zero", outcome: "failed", says: "time of 5e-324 us: want 1e-06 to 1e+12", want: rest},
		{fault: "time-near-infinity", outcome: "failed", says: "time of 1e+308 us", want: rest},
		{fault: "too-many-times", outcome: "failed", says: "measurement of 100000 times: want at most 20", want: rest},
		{fault: "time-is-nan", outcome: "failed", says: "NaN us", want: rest},
		{fault: "wrong-elements", outcome: "wrong", says: "3 elements wrong", want: rest},
		{fault: "wrong-version-once", outcome: "crashed", says: "exit status 7", want: rest},
		{fault: "garbled-handshake-once", outcome: "crashed", says: "exit status 7", want: rest},
		{fault: "exceeds-its-memory", memory: "200M", outcome: "crashed", says: "its cap is 200M", want: rest},
		{fault: "loses-its-device", outcome: "crashed", says: "illegal address: device lost", want: rest},
		{fault: "floods-its-output", outcome: "ok", want: all},
		{fault: "leaves-a-child", outcome: "ok", want: all},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := runFor(t, campaignOf(t, dir, tc.fault, tc.memory, append(sickSearch, tc.flags...)...))
			if r.code != 0 {
				t.Fatalf("exit %d\n%s", r.code, r.stderr)
			}
			journal, err := os.ReadFile(filepath.Join(dir, "c", "trials.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for line := range strings.Lines(string(journal)) {
				if strings.Contains(line, `"algorithm":"`+sickFamily+`"`) && strings.Contains(line, `"outcome":"`+tc.outcome+`"`) && strings.Contains(line, tc.says) {
					found = true
				}
			}
			if !found {
				t.Errorf("no trial of %s is %s and says %q:\n%s", sickFamily, tc.outcome, tc.says, journal)
			}
			if tc.fault == "panics" {
				kept, _ := filepath.Glob(filepath.Join(dir, "c", "output", "*.txt"))
				if len(kept) == 0 {
					t.Error("the crash report is not kept")
				} else if text, _ := os.ReadFile(kept[0]); !strings.Contains(string(text), "goroutine") {
					t.Errorf("kept %q", text)
				}
			}
			if got := winners(t, dir, tc.fault); got != tc.want {
				t.Errorf("winners\n%swant\n%s", got, tc.want)
			}
			if tc.fault == "leaves-a-child" && runtime.GOOS == "linux" {
				endsSoon(t, dir, "child")
			}
		})
	}
}

// An executor that does not start again, or starts with another description, ends the
// campaign with exit code 6; with a sound one it continues to the same winners.
func TestCampaignsContinueWithAnotherExecutor(t *testing.T) {
	whole := t.TempDir()
	if r := runFor(t, campaignOf(t, whole, "none", "", sickSearch...)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	for fault, says := range map[string]string{"does-not-restart": "no such device", "other-fingerprint": "came back changed"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if r := runFor(t, campaignOf(t, dir, fault, "", sickSearch...)); r.code != 6 || !strings.Contains(r.stderr, says) {
				t.Fatalf("exit %d\n%s", r.code, r.stderr)
			}
			if r := runFor(t, campaignOf(t, dir, "none", "", "resume", "c")); r.code != 0 {
				t.Fatalf("resume: exit %d\n%s", r.code, r.stderr)
			}
			if got, want := winners(t, dir, "none"), winners(t, whole, "none"); got != want {
				t.Errorf("winners\n%swant\n%s", got, want)
			}
		})
	}
}

// A search whose campaign is renamed or removed says so and ends with exit code 1. A
// renamed campaign resumes from its new place.
func TestMovedCampaignEndsItsSearch(t *testing.T) {
	whole := t.TempDir()
	if r := runFor(t, campaignOf(t, whole, "none", "", sickSearch...)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	for _, fault := range []string{"renames", "removes"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := runFor(t, campaignOf(t, dir, fault, "", sickSearch...))
			if want := "campaign c: the folder was renamed, removed or replaced while it was written"; r.code != 1 || strings.Count(r.stderr, want) != 1 || strings.Contains(r.stderr, "go on with") {
				t.Fatalf("exit %d\n%s", r.code, r.stderr)
			}
			if _, err := os.Stat(filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("c: %v, want that it is gone", err)
			}
			if fault == "removes" {
				return
			}
			if err := os.Rename(filepath.Join(dir, "c2"), filepath.Join(dir, "c")); err != nil {
				t.Fatal(err)
			}
			if r := runFor(t, campaignOf(t, dir, "none", "", append([]string{"resume", "c"}, "--executor", "sick")...)); r.code != 0 {
				t.Fatalf("resume: exit %d\n%s", r.code, r.stderr)
			}
			if got, want := winners(t, dir, "none"), winners(t, whole, "none"); got != want {
				t.Errorf("winners\n%swant\n%s", got, want)
			}
		})
	}
}

// If colltune is killed during a trial, its executor ends too, and the campaign resumes.
func TestKilledCampaignLeavesNoExecutor(t *testing.T) {
	whole, dir := t.TempDir(), t.TempDir()
	if r := runFor(t, campaignOf(t, whole, "none", "", sickSearch...)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	cmd := campaignOf(t, dir, "hangs", "", sickSearch...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 6000 {
		if _, err := os.Stat(filepath.Join(dir, "faulty")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	endsSoon(t, dir, "faulty")
	if r := runFor(t, campaignOf(t, dir, "none", "", "resume", "c")); r.code != 0 {
		t.Fatalf("resume: exit %d\n%s", r.code, r.stderr)
	}
	if got, want := winners(t, dir, "none"), winners(t, whole, "none"); got != want {
		t.Errorf("winners\n%swant\n%s", got, want)
	}
}

// endsSoon fails the test unless the process whose id a file holds ends soon: the
// promise is two seconds, and the test allows fifteen times that. It counts attempts
// instead of time, because a busy machine delays this process too.
func endsSoon(t *testing.T, dir, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	const turn = 10 * time.Millisecond
	for turns := 30 * time.Second / turn; ; turns-- {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil && syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if turns == 0 {
			t.Fatalf("%s, process %d, is still there", name, pid)
		}
		time.Sleep(turn)
	}
}
