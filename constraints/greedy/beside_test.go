package greedy

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBesideTACOS runs every row on TACOS and here, alternately, and prints the table of
// docs/measurements/greedy.md. COLLTUNE_TACOS names the folder of TACOS's sources, which
// are built with g++.
func TestBesideTACOS(t *testing.T) {
	folder := os.Getenv("COLLTUNE_TACOS")
	if folder == "" {
		t.Skip("COLLTUNE_TACOS names no folder of TACOS's sources")
	}
	theirs := buildTACOS(t, folder)
	t.Log("system | TACOS µs | s | ours µs | s | over bound % | s of the bound")
	for _, r := range append(rows, row{topology: "NDv2 x2", bytes: 1e9}, row{topology: "NDv2 x2, 1 MB", bytes: 1e6}, row{topology: "NDv2 x2, 1 KB", bytes: 1e3}) {
		t.Run(r.topology, func(t *testing.T) { r.beside(t, theirs) })
	}
}

// beside runs a row on TACOS's binary and here.
func (r row) beside(t *testing.T, theirs string) {
	top := r.system(t)
	var input strings.Builder
	for _, e := range top.Edges {
		fmt.Fprintf(&input, "%d %d %.17g %.17g\n", e.From, e.To, float64(e.Bandwidth)/(1<<30), float64(e.Latency))
	}
	n, bytes := len(top.Ranks), r.bytes/int64(len(top.Ranks))
	// Schedules of one size for both: TACOS's chunks are whole bytes.
	o := Options{Collective: "allgather", Bytes: bytes * int64(n)}
	least, err := bound(t.Context(), top, o)
	if err != nil {
		t.Fatal(err)
	}
	here := func() (*Schedule, float64) {
		var s *Schedule
		seconds := processorSeconds(func() {
			if s, err = find(context.Background(), top, o, least); err != nil {
				t.Fatal(err)
			}
		})
		if err := s.Check(top); err != nil {
			t.Fatal(err)
		}
		return s, seconds
	}
	// TACOS's schedules vary: the best of several is taken (fewer where one takes long),
	// and the seconds of one.
	us, theirSeconds, ourSeconds := math.Inf(1), math.Inf(1), math.Inf(1)
	var own *Schedule
	times := 7
	if n > 200 {
		times = 1
	}
	for round := 0; round < 3 && (round == 0 || theirSeconds < 4); round++ {
		cmd := exec.Command(theirs)
		cmd.Stdin = strings.NewReader(fmt.Sprintf("%d %d %d %d\n%s", n, 1, bytes, times, input.String()))
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var took, seconds float64
		if _, err := fmt.Sscan(string(out), &took, &seconds); err != nil {
			t.Fatal(err)
		}
		us, theirSeconds = min(us, took), min(theirSeconds, seconds)
		s, seconds := here()
		own, ourSeconds = s, min(ourSeconds, seconds)
	}
	if own.TimeUS > us*(1+1e-6) {
		t.Errorf("%v us, TACOS takes %v", own.TimeUS, us)
	}
	boundSeconds := processorSeconds(func() { bound(t.Context(), top, o) })
	t.Logf("%s | %.2f | %.2g | %.2f | %.2g | %.2f | %.2g",
		r.topology, us, theirSeconds, own.TimeUS, ourSeconds, 100*own.Gap(), boundSeconds)
}

// buildTACOS compiles the driver in testdata with TACOS's sources.
func buildTACOS(t *testing.T, folder string) string {
	binary := filepath.Join(t.TempDir(), "tacos")
	args := []string{"-O3", "-std=c++17", "-I", filepath.Join(folder, "include"), "-o", binary, "testdata/tacos.cpp"}
	for _, part := range []string{"collective", "event_queue", "synthesizer", "topology"} {
		files, err := filepath.Glob(filepath.Join(folder, "src", part, "*.cpp"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources of TACOS in %s: %v", folder, err)
		}
		args = append(args, files...)
	}
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// processorSeconds returns the processor time of one call of f, over all cores, averaged
// over enough calls to last 50 ms.
func processorSeconds(f func()) float64 {
	used := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	}
	start := used()
	calls := 0.0
	for calls == 0 || used()-start < 0.05 {
		f()
		calls++
	}
	return (used() - start) / calls
}
