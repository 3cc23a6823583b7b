package search_test

import (
	"os"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies/topotest"
)

// allReduced is the campaign of a search for an allreduce on a node of a system, on the simulator.
func allReduced(t *testing.T, system string, sizes []int64) *results.Campaign {
	t.Helper()
	o := search.Options{Executor: "sim"}
	p := search.Problem{Topology: topotest.Resolve(t, system, 1), Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: sizes}
	plan := search.PlanOf(p, o, search.Source{Text: system, Nodes: 1}, search.Settings{Version: "test", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	c, err := results.Create(t.TempDir()+"/campaign", plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	simulators := executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil })
	if _, err := search.Run(t.Context(), p, o, c, search.Effort{Executors: simulators, Jobs: 2}); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFront searches, and reads the front of time against SMs: at every size the time never rises with
// more SMs, no winner takes more than it may, and the winner of all is within 2 % of the fastest that was
// tried.
func TestFront(t *testing.T) {
	systems, sizes := []string{"hub:6"}, []int64{1 << 10, 1 << 16, 1 << 24}
	if os.Getenv("COLLTUNE_LONG") != "" {
		var err error
		if sizes, err = search.Sizes(1<<10, 1<<30, 4); err != nil {
			t.Fatal(err)
		}
		systems = append(systems, "dgx-a100", "dgx-h100", "mi300x")
	}
	for _, system := range systems {
		c := allReduced(t, system, sizes)
		fastest := map[int64]float64{}
		for at, ms := range table.Measurements(c.Trials()) {
			// A setting wins where it is faster than what the library does by itself: another may be faster than the winner.
			program := func(m table.Measured) bool { return m.Competes() && !m.IsSetting() }
			if i := slices.IndexFunc(ms, program); i >= 0 {
				fastest[at.Bytes] = ms[i].TimeUS
			}
		}
		before, named := map[int64]float64{}, 0
		for _, sms := range append(table.Caps[:len(table.Caps):len(table.Caps)], 0) {
			within, err := table.BuildWithin(c, sms)
			if err != nil {
				t.Fatal(err)
			}
			if sms == 0 && len(within.Rows) != len(sizes) {
				t.Errorf("%s: %d rows, want %d", system, len(within.Rows), len(sizes))
			}
			for _, r := range within.Rows {
				us, known := before[r.Bytes]
				if known && r.TimeUS > us {
					t.Errorf("%s: %d bytes: %.2f us within %d SMs, and %.2f with fewer", system, r.Bytes, r.TimeUS, sms, us)
				}
				if sms > 0 && r.SMs() > sms {
					t.Errorf("%s: %d bytes: %s takes %d SMs, of at most %d", system, r.Bytes, r.Algorithm, r.SMs(), sms)
				}
				if sms == 0 && r.TimeUS > 1.02*fastest[r.Bytes] {
					t.Errorf("%s: %d bytes: %.2f us, and the fastest takes %.2f", system, r.Bytes, r.TimeUS, fastest[r.Bytes])
				}
				if made, _ := r.Parameters["sms"].(int); made > 0 {
					named++
					if r.SMs() > made {
						t.Errorf("%s: %d bytes: %s takes %d SMs, and is called one of %d", system, r.Bytes, r.Algorithm, r.SMs(), made)
					}
				}
				before[r.Bytes] = r.TimeUS
			}
			t.Logf("%s: within %d SMs %v", system, sms, before)
		}
		if named == 0 {
			t.Errorf("%s: no program that was made for fewer SMs is on the front", system)
		}
	}
}
