package autotune

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// ring4 is the smallest system whose constants are the catalogue's.
func ring4(t testing.TB) *topologies.Topology {
	t.Helper()
	topology := topotest.Resolve(t, "ring:4", 0)
	return topology
}

// aggregated is a ring whose steps move n chunks each.
func aggregated(instances, n int) Candidate {
	p := ring(instances, 0, true)
	p.Collective.Chunks *= n
	for g := range p.GPUs {
		for b := range p.GPUs[g].Threadblocks {
			steps := p.GPUs[g].Threadblocks[b].Steps
			for s := range steps {
				steps[s].Count *= int32(n)
				steps[s].Src.Off *= int32(n)
				steps[s].Dst.Off *= int32(n)
			}
		}
	}
	return Candidate{
		Algorithm: "ring", Source: "template", Channels: instances, Instances: instances, Program: p, Hash: p.Hash(),
		SlotsNeeded: 2*n - 1, // a call a chunk, one step ahead of the receiver
	}
}

// Tiles that are taken for one run alike on the simulator.
func TestTilesTakenForOneRunAlike(t *testing.T) {
	topology := ring4(t)
	same, different := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := aggregated(rapid.IntRange(1, 4).Draw(t, "instances"), rapid.SampledFrom([]int{1, 2, 3, 8, 80}).Draw(t, "count"))
		prepared, err := sim.Prepare(c.Program, topology)
		if err != nil {
			t.Fatal(err)
		}
		bytes := int64(4) << rapid.IntRange(0, 20).Draw(t, "size")
		bytes += 4 * rapid.Int64Range(0, bytes/4).Draw(t, "odd")
		proto := topologies.Proto(rapid.IntRange(0, 2).Draw(t, "protocol"))
		tile := func(name string) int64 { return int64(1024) << rapid.IntRange(0, 12).Draw(t, name) }
		a, b := tile("a"), tile("b")
		chunk := export.ChunkBytes(bytes, 4, c.Program.Collective.Chunks)
		if !export.SameTile(chunk, maxCount(c.Program), a, b) {
			different++
			return
		}
		if a != b {
			same++
		}
		run := func(tile int64) float64 {
			r, err := prepared.Run(sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: tile, ElemBytes: 4})
			if err != nil {
				return -1 // more calls than slots: then with either tile
			}
			return r.TimeUS
		}
		if x, y := run(a), run(b); x != y {
			t.Fatalf("tile %d takes %v us, tile %d %v us", a, x, b, y)
		}
	})
	if same == 0 || different == 0 {
		t.Errorf("%d pairs of tiles alike, %d not: want some of both", same, different)
	}
}

// With the simulator and its own lower bound, pruning saves trials and changes
// nothing.
func TestPrunedOnTheSimulator(t *testing.T) {
	problem := testProblem()
	problem.Topology = ring4(t)
	problem.Sizes = []int64{1 << 10, 1 << 16, 1 << 22, 1 << 28}
	elem := int64(4)
	tune := func(bounded bool) (answer, exports string, s Summary) {
		var candidates []Candidate
		for _, instances := range []int{1, 2, 3, 4, 6, 8} {
			for _, count := range []int{1, 2} {
				c := aggregated(instances, count)
				if bounded {
					prepared, err := sim.Prepare(c.Program, problem.Topology)
					if err != nil {
						t.Fatal(err)
					}
					c.Bound = func(bytes int64, proto topologies.Proto, tile int64) float64 {
						return prepared.LowerBound(sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: tile, ElemBytes: elem})
					}
				}
				candidates = append(candidates, c)
			}
		}
		plan := testPlan("in")
		plan.Sizes = problem.Sizes
		store, err := results.Create(t.TempDir(), plan)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s, err = Run(context.Background(), problem, candidates, Options{
			Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2, Campaign: store,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range store.Trials() {
			if trial.Outcome != results.OK {
				t.Errorf("%d bytes, %s, tile %d, %d instances: %s: %s", trial.Bytes, trial.Protocol, trial.TileBytes, trial.Instances, trial.Outcome, trial.Note)
			}
		}
		return tableOf(t, store, true), exportsOf(t, store), s
	}
	want, wantExports, all := tune(false)
	got, gotExports, some := tune(true)
	if got != want {
		t.Errorf("pruned\n%s\nexhaustive\n%s", got, want)
	}
	if gotExports != wantExports {
		t.Errorf("pruned exports\n%s\nexhaustive exports\n%s", gotExports, wantExports)
	}
	if some.Trials >= all.Trials || some.Failed+all.Failed > 0 {
		t.Errorf("%d trials pruned, %d exhaustive, %d and %d failed", some.Trials, all.Trials, some.Failed, all.Failed)
	}
	t.Logf("%d trials pruned, %d exhaustive", some.Trials, all.Trials)
}
