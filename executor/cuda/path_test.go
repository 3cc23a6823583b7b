package cuda

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/emulate"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// modelled are GPUs whose launches are timed by the model of package emulate.
func modelled(t *testing.T, store int) *emulated {
	costs := emulate.Hopper()
	costs.Store = store
	return newEmulated(t, &emulate.Machine{SMs: 28, WholeLines: true, Costs: costs})
}

// hopOf is what a flag takes from one block to another, in cycles of the model,
// found as it is on a GPU.
func hopOf(t *testing.T, store int) float64 {
	t.Helper()
	e := modelled(t, store)
	if err := e.use(1, data.F32); err != nil {
		t.Fatal(err)
	}
	f := &figures{t: t, g: e.gpus}
	cycles := func(rounds uint64) float64 {
		f.flags(rounds)
		return float64(e.m.Timings[len(e.m.Timings)-1].Cycles)
	}
	return (cycles(24) - cycles(4)) / 40
}

// pathOf is how a trial's last launch came to its end.
func pathOf(t *testing.T, store int, trial executor.Trial, threads int) *emulate.Timing {
	t.Helper()
	e := modelled(t, store)
	e.right(t, trial, threads)
	for i := len(e.m.Timings) - 1; i >= 0; i-- {
		if one := &e.m.Timings[i]; strings.HasPrefix(one.Kernel, "interpret") || strings.HasPrefix(one.Kernel, "exchange") {
			return one
		}
	}
	t.Fatal("no launch was timed")
	return nil
}

// TestPathOfSmallMessages has the model say what is on the longest way through
// programs for small messages. Its cycles are no GPU's; that the way has become
// longer than it was is what it finds.
func TestPathOfSmallMessages(t *testing.T) {
	for _, c := range []struct {
		ranks, phases, threads int
		proto                  topologies.Proto
		most                   float64 // of two hops
		issued, loads          int     // at most
		long                   bool
	}{
		{ranks: 2, phases: 1, threads: 128, proto: topologies.LL, most: 1.6, issued: 180, loads: 4},
		{ranks: 8, phases: 1, threads: 128, proto: topologies.LL, most: 2.1, issued: 260, loads: 4, long: true},
		{ranks: 8, phases: 1, threads: 64, proto: topologies.LL, most: 7, issued: 1200, loads: 12, long: true},
		{ranks: 8, phases: 1, threads: 128, proto: topologies.LL128, most: 2.4, issued: 320, loads: 4, long: true},
		{ranks: 8, phases: 1, threads: 128, proto: topologies.Simple, most: 6, issued: 500, loads: 12, long: true},
		{ranks: 8, phases: 2, threads: 128, proto: topologies.LL, most: 3.5, issued: 550, loads: 6, long: true},
	} {
		if c.long && !long() {
			continue
		}
		f := &figures{t: t}
		trial := executor.Trial{
			Program: f.overRanks(c.ranks, "all-pairs", "allreduce", map[string]any{"phases": c.phases}, 1),
			Bytes:   1024, Protocol: c.proto, DType: "f32", Op: "sum", Iters: 1,
		}
		stores := []int{emulate.Hopper().Store}
		if long() {
			trial.Warmup = 9 // all slots have been used
			stores = []int{300, 600, 900}
		}
		for _, store := range stores {
			hop, path := hopOf(t, store), pathOf(t, store, trial, c.threads)
			ratio := float64(path.Cycles) / (2 * hop)
			said := []string{fmt.Sprintf("%d ranks, %d phases, %v, %d threads; a hop %.0f cycles: %d cycles, %.2f of two hops; %d instructions", c.ranks, c.phases, c.proto, path.Threads, hop, path.Cycles, ratio, path.Issued)}
			for what := range emulate.Causes {
				times, cycles := path.Of(what)
				said = append(said, fmt.Sprintf("%v %d×, %d", what, times, cycles))
			}
			t.Log(strings.Join(said, "; "))
			if os.Getenv("COLLTUNE_PATHS") != "" {
				t.Log(waits(t, path))
			}
			far, _ := path.Of(emulate.Loads)
			if store == emulate.Hopper().Store && (ratio > c.most || path.Issued > c.issued || far > c.loads) {
				t.Errorf("%.2f of two hops, %d instructions and %d loads: want at most %.1f, %d and %d", ratio, path.Issued, far, c.most, c.issued, c.loads)
			}
		}
	}
}

// waits are those on a way, with the lines of the text that wait.
func waits(t *testing.T, path *emulate.Timing) string {
	text, err := ptxOf(data.F32)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	said := "\n  after  for                 cycles  line\n"
	before := path.Began
	for _, w := range path.Path {
		said += fmt.Sprintf("%7d  %-18v %7d  %5d %s\n", w.At-w.Took-before, w.What, w.Took, w.Line, strings.TrimSpace(lines[w.Line-1]))
		before = w.At
	}
	return said
}
