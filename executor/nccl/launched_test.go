package nccl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/topologies"
)

// started returns an executor with fake nccl-tests, four ranks in two processes.
func started(t testing.TB, fault string, more map[string]string) *launched {
	t.Helper()
	given := map[string]string{"tests": fakes(t, fault), "gpus": "2", "cycles": "2"}
	for k, v := range more {
		given[k] = v
	}
	s, err := readSettings(func(name string) string { return given[name] }, []string{"env", "FAKE_PROCESSES=2"})
	if err != nil {
		t.Fatal(err)
	}
	return newLaunched(*s)
}

func native(algorithm, coll string, bytes int64, proto topologies.Proto, settings map[string]string) executor.Trial {
	return executor.Trial{
		Native:     &executor.Native{Algorithm: algorithm, Settings: settings},
		Collective: collective.Spec{Name: coll, Ranks: 4, Chunks: 1, InPlace: coll == "allreduce"},
		Bytes:      bytes, Protocol: proto, DType: "f32", Op: "sum", Iters: 20, Warmup: 5,
	}
}

// calls returns the launches so far.
func calls(t testing.TB, l *launched) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.tests, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func TestDescribesWhatItFinds(t *testing.T) {
	l := started(t, "well", map[string]string{"channels": "default,8"})
	d, err := l.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.MaxRanks != 4 || d.Version != "2.30.7" || !d.NativeOnly || len(d.Devices) != 4 || len(d.DTypes) != 10 {
		t.Errorf("%+v", d)
	}
	var names []string
	for _, a := range d.Native {
		names = append(names, a.Algorithm)
	}
	if want := []string{"auto", "ring", "tree", "nvls", "nvlstree", "collnetdirect", "collnetchain", "pat"}; !slices.Equal(names, want) {
		t.Errorf("algorithms %v", names)
	}
	if got := d.Native[1].Settings["channels"]; !slices.Equal(got, []string{"default", "8"}) {
		t.Errorf("channels to try: %v", got)
	}
	want := map[string]string{"library": "nccl 2.30.7", "nccl-tests": "2.19.6", "ranks": "4", "gpus": "2", "cycles": "2", "devices": "4 × FAKE GPU", "launcher": "env FAKE_PROCESSES=2"}
	if diff := cmp.Diff(want, d.Fingerprint); diff != "" {
		t.Error(diff)
	}
	t.Setenv("NCCL_IB_HCA", "mlx5_0")
	if d, _ := l.Describe(t.Context()); d.Fingerprint["environment"] != "NCCL_IB_HCA=mlx5_0" {
		t.Errorf("what the user sets for the library is not in the fingerprint: %v", d.Fingerprint)
	}
	// One whose log says nothing is only left to choose, unless it is trusted.
	for trust, want := range map[string]int{"": 1, "true": len(algorithms) + 1} {
		d, err := started(t, "silent", map[string]string{"trust": trust}).Describe(t.Context())
		if err != nil || len(d.Native) != want {
			t.Errorf("a silent library, trust %q: %d algorithms, %v", trust, len(d.Native), err)
		}
	}
}

func TestMeasures(t *testing.T) {
	l := started(t, "well", nil)
	for name, tc := range map[string]struct {
		trial executor.Trial
		times []float64
	}{
		"its own choice":     {native("auto", "allreduce", 4096, 0, nil), []float64{12.02, 12.02}},
		"tree":               {native("tree", "allreduce", 4096, topologies.LL128, nil), []float64{17.02, 17.02}},
		"ring of 8 channels": {native("ring", "allreduce", 65536, topologies.Simple, map[string]string{"channels": "8", "buffer": "default"}), []float64{19.19, 19.19}},
		"out of place":       {native("ring", "allgather", 4096, topologies.LL, nil), []float64{11.02, 11.02}},
		"rooted":             {native("ring", "broadcast", 4096, topologies.LL, nil), []float64{11.02, 11.02}},
		"no TUNING lines":    {native("auto", "alltoall", 4096, 0, nil), []float64{11.02, 11.02}},
	} {
		m, err := l.Run(t.Context(), tc.trial)
		if err != nil || m.Wrong != 0 || !m.Checked || !slices.Equal(m.TimesUS, tc.times) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	// The log is asked for once, and never where times are taken.
	before := len(calls(t, l))
	if _, err := l.Run(t.Context(), native("tree", "allreduce", 8192, topologies.LL128, nil)); err != nil {
		t.Error(err)
	}
	made := calls(t, l)[before:]
	if len(made) != 1 || strings.Contains(made[0], "DEBUG") || !strings.Contains(made[0], "NCCL_ALGO=Tree NCCL_PROTO=LL128") {
		t.Errorf("launched %q", made)
	}
	if !strings.HasPrefix(made[0], "-b 8192 -e 8192 -f 2 -g 2 -n 20 -w 5 -c 1 -d float -o sum -N 2 ") {
		t.Errorf("arguments: %q", made[0])
	}
}

// An algorithm that the library did not run is not measured under its name.
func TestRefusesWhatDidNotTake(t *testing.T) {
	l := started(t, "well", nil)
	ring := map[string]string{"channels": "32"}
	for name, tc := range map[string]struct {
		trial executor.Trial
		says  string
	}{
		"not here":        {native("nvls", "allreduce", 4096, topologies.Simple, nil), "the library has no such algorithm and protocol here"},
		"fell back":       {native("pat", "allgather", 4096, topologies.Simple, nil), "pat Simple had no effect: the library ran ring simple"},
		"channels":        {native("ring", "allreduce", 4096, topologies.LL, ring), "had no effect: the library has 4 channels"},
		"variable unread": {native("ring", "allreduce", 4096, topologies.LL, map[string]string{"threads": "256"}), "the library does not say that it has read NCCL_NTHREADS"},
		"value":           {native("ring", "allreduce", 4096, topologies.LL, map[string]string{"threads": "100"}), `threads "100": want 64, 128, 256 or 512, or default`},
		"no program":      {native("auto", "allgatherv", 4096, 0, nil), "nccl-tests measures no allgatherv"},
		"size":            {native("auto", "alltoall", 1000, 0, nil), "nccl-tests measures 960 bytes instead of 1000"},
	} {
		_, err := l.Run(t.Context(), tc.trial)
		if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	other := native("auto", "allreduce", 4096, 0, nil)
	other.Collective.Ranks = 8
	if _, err := l.Run(t.Context(), other); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "8 ranks: the launcher starts 4") {
		t.Errorf("another number of ranks: %v", err)
	}
	// It is not launched again to hear the same.
	before := len(calls(t, l))
	if _, err := l.Run(t.Context(), native("pat", "allgather", 8192, topologies.Simple, nil)); err == nil || len(calls(t, l)) != before {
		t.Errorf("launched %q, %v", calls(t, l)[before:], err)
	}
}

func TestFailures(t *testing.T) {
	for fault, says := range map[string]string{
		"exit":        "all_reduce_perf exit status 3; it printed:\n\tnode1: Test CUDA failure",
		"garbage":     "no row of nccl-tests' table",
		"without-MPI": "must be built with MPI=1",
	} {
		_, err := started(t, fault, nil).Describe(t.Context())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", fault, err, says)
		}
	}
	l := started(t, "wrong", nil)
	if m, err := l.Run(t.Context(), native("ring", "allreduce", 4096, topologies.LL, nil)); err != nil || m.Wrong != 6 {
		t.Errorf("wrong results: %+v, %v", m, err)
	}
	// Tests that can't repeat a size measure it once.
	l = started(t, "old", nil)
	if m, err := l.Run(t.Context(), native("ring", "allreduce", 4096, topologies.LL, nil)); err != nil || len(m.TimesUS) != 1 || !m.Checked {
		t.Errorf("old tests: %+v, %v", m, err)
	}
	if d, err := l.Describe(t.Context()); err != nil || d.Fingerprint["cycles"] != "1" {
		t.Errorf("old tests: %v, %v", d.Fingerprint, err)
	}
	// rccl-tests repeat it by another name.
	l = started(t, "rccl", nil)
	if m, err := l.Run(t.Context(), native("ring", "allreduce", 4096, topologies.LL, nil)); err != nil || len(m.TimesUS) != 2 || !m.Checked {
		t.Errorf("rccl-tests: %+v, %v", m, err)
	}
	if d, err := l.Describe(t.Context()); err != nil || d.Fingerprint["cycles"] != "2" {
		t.Errorf("rccl-tests: %v, %v", d.Fingerprint, err)
	}
	l = started(t, "too-large", nil)
	if _, err := l.Run(t.Context(), native("ring", "allreduce", 1<<22, topologies.LL, nil)); err == nil || errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("out of memory: %v", err)
	}
	if _, err := launch(t.Context(), []string{"./no-such-launcher"}, nil, "x"); err == nil || !strings.Contains(err.Error(), "no-such-launcher") {
		t.Errorf("no launcher: %v", err)
	}
}

// A launch that hangs ends with its trial, together with all processes it started.
func TestHangEnds(t *testing.T) {
	l := started(t, "hang", nil)
	l.known = &facts{ranks: 4, tells: true}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := l.Run(ctx, native("auto", "allreduce", 4096, 0, nil))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// The error of a failed start has the launcher's output. The start's time grows here
// until the launcher has printed it.
func TestWaitsInVain(t *testing.T) {
	for within := time.Second; ; within *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		_, err := started(t, "hang", nil).Describe(ctx)
		cancel()
		if errors.Is(err, executor.ErrUnavailable) && strings.Contains(err.Error(), "no answer within start-timeout") && strings.Contains(err.Error(), "# waiting") {
			return
		}
		if within > time.Minute {
			t.Fatalf("%v", err)
		}
	}
}

// Processes that a launcher started end with it, even if it does not end them.
func TestHangLeavesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("process groups are Unix's")
	}
	beat := filepath.Join(t.TempDir(), "beat")
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // once it beats
		defer cancel()
		for range 2000 {
			if _, err := os.Stat(beat); err == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := launch(ctx, []string{"sh", "-c", `trap "" TERM; (trap "" TERM; while :; do echo >> "$0"; sleep 0.05; done) & wait; sleep 60`, beat}, nil, "x")
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	size := func() int64 {
		info, err := os.Stat(beat)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	time.Sleep(300 * time.Millisecond)
	if after := size(); after != before {
		t.Errorf("it goes on: %d, then %d beats", before, after)
	}
}

// In a sweep one launch measures all its sizes, each once.
func TestSweep(t *testing.T) {
	l := started(t, "well", map[string]string{"sweep": "1K:16K:4", "cycles": "1"})
	run := func(bytes int64) int {
		t.Helper()
		before := 0
		if l.known != nil {
			before = len(calls(t, l))
		}
		m, err := l.Run(t.Context(), native("auto", "allreduce", bytes, 0, nil))
		if err != nil || len(m.TimesUS) != 1 {
			t.Fatalf("%d bytes: %+v, %v", bytes, m, err)
		}
		return len(calls(t, l)) - before
	}
	run(1024)
	for _, tc := range []struct {
		bytes    int64
		launches int
	}{{4096, 0}, {16384, 0}, {4096, 1}, {1024, 0}, {2048, 1}, {1 << 20, 1}} {
		if n := run(tc.bytes); n != tc.launches {
			t.Errorf("%d bytes took %d launches, want %d", tc.bytes, n, tc.launches)
		}
	}
	// What came before a failure counts.
	l = started(t, "too-large", map[string]string{"sweep": "256K:4M:4", "cycles": "1"})
	run(1 << 18)
	if n := run(1 << 20); n != 0 {
		t.Errorf("%d launches for what the sweep measured before it failed", n)
	}
	if _, err := l.Run(t.Context(), native("auto", "allreduce", 1<<22, 0, nil)); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("beyond: %v", err)
	}
}

// around is an allgather of one chunk a rank on a ring of four.
func around(inPlace bool) *ir.Program {
	const n = 4
	p := &ir.Program{Name: "around", Collective: collective.Spec{Name: "allgather", Ranks: n, Chunks: 1, InPlace: inPlace}}
	for r := range n {
		at := func(k int) ir.Loc { return ir.Loc{Buf: collective.Out, Off: int32(((r-k)%n + n) % n)} }
		tb := ir.Threadblock{Send: (r + 1) % n, Recv: (r + n - 1) % n}
		tb.Steps = append(tb.Steps, ir.Step{Op: ir.Send, Count: 1, Src: at(0)})
		for k := 1; k < n-1; k++ {
			tb.Steps = append(tb.Steps, ir.Step{Op: ir.RecvCopySend, Count: 1, Dst: at(k)})
		}
		tb.Steps = append(tb.Steps, ir.Step{Op: ir.Recv, Count: 1, Dst: at(n - 1)})
		p.GPUs = append(p.GPUs, ir.GPU{Threadblocks: []ir.Threadblock{tb}})
	}
	return p
}

// Programs run if the library loads them, and a trial in which it fell back to its own
// algorithms is not taken for one.
func TestPrograms(t *testing.T) {
	trial := func(bytes int64) executor.Trial {
		return executor.Trial{Program: around(true), Bytes: bytes, Protocol: topologies.LL, TileBytes: 32768, DType: "f32", Op: "sum", Iters: 5}
	}
	for _, runtime := range []string{"msccl", "executor-nccl", "rccl"} {
		dir := t.TempDir()
		l := started(t, "well", map[string]string{"runtime": runtime, "programs": dir})
		if d, err := l.Describe(t.Context()); err != nil || d.NativeOnly {
			t.Fatalf("%s: %v", runtime, err)
		}
		good := trial(4096)
		if runtime == "rccl" {
			good.TileBytes = 16384
		}
		m, err := l.Run(t.Context(), good)
		if err != nil || !slices.Equal(m.TimesUS, []float64{8, 8}) {
			t.Errorf("%s: %+v, %v", runtime, m, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s leaves %v", runtime, left)
		}
		odd := good
		odd.Bytes = 4100
		if _, err := l.Run(t.Context(), odd); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "multiples of") {
			t.Errorf("%s, a size its chunks don't divide: %v", runtime, err)
		}
		tile := good
		tile.TileBytes = 4096
		if _, err := l.Run(t.Context(), tile); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "tile of 4096 bytes") {
			t.Errorf("%s, another tile: %v", runtime, err)
		}
		// A library that does not read it falls back, and is found out.
		deaf := started(t, "deaf", map[string]string{"runtime": runtime, "programs": dir})
		if _, err := deaf.Run(t.Context(), good); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "had no effect") {
			t.Errorf("%s, deaf: %v", runtime, err)
		}
	}
	if _, err := started(t, "well", nil).Run(t.Context(), trial(4096)); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "reads no programs") {
		t.Errorf("a library without: %v", err)
	}
}

func TestSettingsRefused(t *testing.T) {
	for key, tc := range map[string]struct{ value, says string }{
		"library":  {"/lib/libnccl.so.2", "both tests and library are set"},
		"gpus":     {"0", `gpus "0": want a number from 1`},
		"cycles":   {"many", `cycles "many"`},
		"sweep":    {"1K:1:2", `sweep "1K:1:2": want LEAST:MOST`},
		"trust":    {"perhaps", `trust "perhaps"`},
		"runtime":  {"cuda", "runtime"},
		"channels": {"default,99", `channels "99": want 1 to 64, or default`},
		"buffer":   {"1", `buffer "1"`},
		"threads":  {"65", `threads "65"`},
	} {
		given := map[string]string{"tests": "/x", "gpus": "8", key: tc.value}
		if _, err := readSettings(func(k string) string { return given[k] }, nil); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s = %q: %v, want %q", key, tc.value, err, tc.says)
		}
	}
	given := map[string]string{"tests": "/x"}
	get := func(k string) string { return given[k] }
	if _, err := readSettings(get, nil); err == nil || !strings.Contains(err.Error(), "gpus is not set") {
		t.Errorf("neither a launcher nor gpus: %v", err)
	}
	s, err := readSettings(get, []string{"srun"})
	if err != nil || s.gpus != 1 || s.cycles != 3 || s.sweep != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// Every variable that selects an algorithm is assigned once in the table.
func TestEnvironment(t *testing.T) {
	for _, a := range algorithms {
		for _, p := range topologies.AllProtocols {
			env, err := environment(&executor.Native{Algorithm: a.name, Settings: map[string]string{"channels": "4", "buffer": "1048576", "threads": "128"}}, p)
			want := []string{"NCCL_ALGO=" + a.env, "NCCL_PROTO=" + p.String(), "NCCL_MIN_NCHANNELS=4", "NCCL_MAX_NCHANNELS=4", "NCCL_BUFFSIZE=1048576", "NCCL_NTHREADS=128"}
			if err != nil || !slices.Equal(env, want) {
				t.Errorf("%s %s: %q, %v", a.name, p, env, err)
			}
		}
	}
	if _, err := environment(&executor.Native{Algorithm: "star"}, 0); err == nil {
		t.Error("an algorithm nobody has")
	}
	if _, err := environment(&executor.Native{Algorithm: "auto", Settings: map[string]string{"channels": "4"}}, 0); err == nil {
		t.Error("settings of its own choice")
	}
}

// Results that nccl-tests did not check (-c 0) are not reported as checked.
func TestUncheckedRows(t *testing.T) {
	trial := &executor.Trial{DType: "f32", Collective: collective.Spec{Name: "allreduce", Ranks: 2, InPlace: true}}
	row := func(checked bool) nccltests.Row {
		return nccltests.Row{Bytes: 8, Type: "float", InPlace: &nccltests.Timing{TimeUS: 1, Checked: checked}}
	}
	for _, all := range [][]bool{{true}, {false}, {true, false}, {true, true}} {
		var rows []nccltests.Row
		for _, checked := range all {
			rows = append(rows, row(checked))
		}
		m, err := measurement(rows, trial, "")
		if want := !slices.Contains(all, false); err != nil || m.Checked != want {
			t.Errorf("%v: checked %v, %v: want %v", all, m.Checked, err, want)
		}
	}
}
