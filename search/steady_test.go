package search

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/baseline"
	"github.com/colltune/colltune/topologies"
)

// quickOf is an enumeration that only times the library's choices.
func quickOf(t testing.TB, p *Problem) *enumeration {
	e := &enumeration{problem: p, options: &Options{Executor: "sim", Solver: "pb"}, machine: machineOf(p.Topology)}
	t.Cleanup(e.close)
	return e
}

// firstTimed is the library's first choice that has a steady state, with its time.
func firstTimed(t *testing.T, e *enumeration, bytes int64) (c baseline.Choice, us float64, whole bool) {
	t.Helper()
	col, err := e.problem.over()
	if err != nil {
		t.Fatal(err)
	}
	choices, err := baseline.Choices(e.problem.Topology, col, bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range choices {
		us, whole, why, err := e.steady(t.Context(), c, bytes)
		if err != nil {
			t.Fatal(err)
		}
		if why == "" {
			return c, us, whole
		}
	}
	return c, 0, false
}

var (
	steadySystems     = []string{"dgx-a100", "dgx-h100", "frontier", "perlmutter"}
	steadyCollectives = []string{"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "alltoall", "gather"}
)

// TestSteadyStateIsExact: by a steady state a call takes as long as by simulating all nodes,
// within 2 % for rings, chains and trees and 10 % for sends and receives. COLLTUNE_LONG
// looks at more nodes and sizes.
func TestSteadyStateIsExact(t *testing.T) {
	counts, sizes := []int{9}, []int64{64 << 10, 16 << 20}
	if os.Getenv("COLLTUNE_LONG") != "" {
		counts, sizes = []int{5, 7, 9, 12, 16}, []int64{64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30}
	}
	compared := 0
	for _, system := range steadySystems {
		for _, coll := range steadyCollectives {
			for _, nodes := range counts {
				p, _ := problem{system, nodes, coll, sizes}.resolve(t)
				e := quickOf(t, &p)
				for _, bytes := range sizes {
					c, quick, whole := firstTimed(t, e, bytes)
					if quick == 0 {
						t.Errorf("%d x %s, %s of %d bytes: no time", nodes, system, coll, bytes)
						continue
					}
					g, _ := e.growthOf(c)
					if n := g.operations(len(p.Topology.Ranks), ways(c), c.Channels); whole || n > 1<<20 {
						continue
					}
					exact, why, err := e.onFirst(t.Context(), nodes, g, c, bytes)
					if why != "" || err != nil {
						t.Fatal(why, err)
					}
					within := 0.02
					if c.Family == "direct" {
						within = 0.10
					}
					compared++
					if ratio := quick / (exact + c.ExtraUS); math.Abs(ratio-1) > within {
						t.Errorf("%d x %s, %s of %d bytes, %s %v: %.1f us, %.3f of the %.1f us simulated", nodes, system, coll, bytes, routingName(c), c.Protocol, quick, ratio, exact+c.ExtraUS)
					}
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("%d comparisons: want 40 at least", compared)
	}
}

// TestSteadyStateIsMonotone: no call takes less time for a larger size with the same choice,
// or on more nodes with as much for each rank and the same choice.
func TestSteadyStateIsMonotone(t *testing.T) {
	counts, sizes := []int{32, 256}, []int64{4 << 10, 1 << 20}
	if os.Getenv("COLLTUNE_LONG") != "" {
		counts, sizes = []int{20, 32, 100, 256, 1024}, []int64{1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20}
	}
	for _, system := range steadySystems {
		for _, coll := range steadyCollectives {
			before := map[string]float64{} // by choice and size of a rank: on fewer nodes
			for _, nodes := range counts {
				p, _ := problem{system, nodes, coll, nil}.resolve(t)
				e := quickOf(t, &p)
				last, choice := 0.0, ""
				for _, each := range sizes {
					bytes := each * int64(len(p.Topology.Ranks))
					if bytes > 8<<30 {
						break
					}
					c, us, whole := firstTimed(t, e, bytes)
					at := fmt.Sprintf("%s %v %d", routingName(c), c.Protocol, c.TileBytes)
					switch key := fmt.Sprint(at, each); {
					case us <= 0 || whole:
						t.Errorf("%d x %s, %s of %d bytes: %v us, whole %v", nodes, system, coll, bytes, us, whole)
					case us < before[key] || at == choice && us < last:
						t.Errorf("%d x %s, %s of %d bytes, %s: %.1f us, after %.1f with less and %.1f on fewer nodes", nodes, system, coll, bytes, at, us, last, before[key])
					default:
						before[key] = us
					}
					last, choice = us, at
				}
			}
		}
	}
}

// TestBaselineAtEveryScale: where the library's program is too large to be a candidate, or
// has too many threadblocks, a steady state gives its time and its name says so. On
// executors that measure there is none.
func TestBaselineAtEveryScale(t *testing.T) {
	for _, pr := range []problem{
		{"dgx-a100", 14, "alltoall", []int64{1 << 20}}, // more threadblocks than SMs
		{"dgx-a100", 256, "alltoall", []int64{64 << 20}},
		{"dgx-a100", 256, "allgather", []int64{1 << 30}},
		{"frontier", 256, "allgather", []int64{16 << 20, 1 << 30}},
		{"perlmutter", 512, "reducescatter", []int64{16 << 20}},
	} {
		p, _ := pr.resolve(t)
		calls, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: "sim"})
		if err != nil || len(calls) != len(p.Sizes) {
			t.Errorf("%v: %d calls of %d, %v", pr, len(calls), len(p.Sizes), err)
			continue
		}
		for _, c := range calls {
			if !strings.HasSuffix(c.Name, steadyMark) || c.ClockUS <= 0 || c.Program != nil {
				t.Errorf("%v, %d bytes: %s, %v us", pr, c.Bytes, c.Name, c.ClockUS)
			}
		}
		if calls, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: "cpu", Memory: 1 << 30}); err != nil || len(calls) != 0 {
			t.Errorf("%v on an executor that measures: %+v, %v", pr, calls, err)
		}
	}
}

// TestBaselineByWayOfOtherGPUs: where GPUs of a node have no link, the library's sends pass
// others. A large alltoall takes at least as long as the busiest link, and at most twice.
func TestBaselineByWayOfOtherGPUs(t *testing.T) {
	for _, system := range []string{"frontier", "mi250x", "mi250", "dgx-1", "ndv2"} {
		for _, coll := range []string{"alltoall", "gather", "scatter", "sendrecv", "alltonext"} {
			for _, nodes := range []int{1, 4} {
				p, _ := problem{system, nodes, coll, []int64{64 << 10, 1 << 30}}.resolve(t)
				calls, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: "sim"})
				if err != nil || len(calls) != 2 {
					t.Errorf("%d x %s, %s: %d calls of 2, %v", nodes, system, coll, len(calls), err)
					continue
				}
				for _, c := range calls {
					if !strings.HasSuffix(c.Name, forwardedMark) || c.ClockUS <= 0 {
						t.Errorf("%d x %s, %s of %d bytes: %s, %v us", nodes, system, coll, c.Bytes, c.Name, c.ClockUS)
					}
				}
				if coll != "alltoall" || nodes > 1 {
					continue
				}
				all, busy, most := p.Topology.Forwarding(), map[int]float64{}, 0.0
				for a := range all.Ranks {
					for b := range all.Ranks {
						path, _ := all.Path(a, b)
						for _, e := range path.Edges {
							busy[e] += float64(1<<30) / float64(len(all.Ranks)) / all.Edges[e].Bandwidth.PerMicro()
							most = max(most, busy[e])
						}
					}
				}
				if ratio := calls[1].ClockUS / most; ratio < 1 || ratio > 2 {
					t.Errorf("%s: an alltoall of 1 GiB takes %.0f us, %.2f of the %.0f of its busiest link", system, calls[1].ClockUS, ratio, most)
				}
			}
		}
	}
}

// TestCountsOnFewNodes: where all nodes are simulated, counts may differ.
func TestCountsOnFewNodes(t *testing.T) {
	p, _ := problem{"frontier", 1, "allgatherv", []int64{1 << 20}}.resolve(t)
	even, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: "sim"})
	if err != nil || len(even) != 1 {
		t.Fatal(len(even), err)
	}
	p.Counts = []int{1, 1, 1, 1, 1, 1, 1, 9}
	uneven, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: "sim"})
	if err != nil || len(uneven) != 1 || uneven[0].ClockUS <= even[0].ClockUS {
		t.Errorf("%+v, %v: want longer than the %v us of equal counts", uneven, err, even[0].ClockUS)
	}
}

// TestNoSteadyState: where nodes differ, or what each rank sends, no step repeats another.
func TestNoSteadyState(t *testing.T) {
	p, _ := problem{"dgx-a100", 16, "alltoall", nil}.resolve(t)
	e, c := quickOf(t, &p), baseline.Choice{Family: "direct", Channels: 1, Protocol: topologies.LL}
	for _, change := range []func(){
		func() {
			p.Topology = p.Topology.Calibrated(topologies.Calibration{})
			p.Topology.Edges[3].Bandwidth *= 2
		},
		func() { p, _ = problem{"dgx-a100", 16, "alltoallv", nil}.resolve(t); p.Counts = []int{1, 2} },
		func() { p, _ = problem{"dgx-a100", 16, "allreduce", nil}.resolve(t); c.Family = "nvls" },
	} {
		if _, why := e.growthOf(c); why != "" {
			t.Fatalf("nothing is changed yet: %s", why)
		}
		change()
		if _, why := e.growthOf(c); why == "" {
			t.Errorf("%s on %s has a steady state", p.Collective, p.Topology.Name)
		}
		p, _ = problem{"dgx-a100", 16, "alltoall", nil}.resolve(t)
		c.Family = "direct"
	}
}

// BenchmarkLibraryAt9216 times the library's calls at Frontier's scale of 2024.
func BenchmarkLibraryAt9216(b *testing.B) {
	t, err := topologies.Resolve("frontier", topologies.Options{Nodes: 1152})
	if err != nil {
		b.Fatal(err)
	}
	p, _ := problem{"frontier", 2, "allgather", []int64{16 << 20, 64 << 20, 256 << 20, 1 << 30}}.resolve(b)
	p.Topology = t
	for b.Loop() {
		if calls, err := LibraryCalls(b.Context(), p, Options{Solver: "pb"}); err != nil || len(calls) != 4 {
			b.Fatal(len(calls), err)
		}
	}
}
