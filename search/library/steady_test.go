package library

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// firstTimed is the library's first choice that has a steady state, with its time.
func firstTimed(t *testing.T, l *Library, bytes int64) (c *nccl.Choice, us float64, whole bool) {
	t.Helper()
	col, err := l.target.Over(len(l.target.Topology.Ranks), l.target.InPlace)
	if err != nil {
		t.Fatal(err)
	}
	choices, err := nccl.ForcedChoices(l.target.Topology, col, bytes, nccl.Forced{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range choices {
		c = &choices[i]
		us, whole, why, err := l.steady(t.Context(), c, bytes)
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
				l, _ := on(t, system, nodes, coll, Options{})
				for _, bytes := range sizes {
					c, quick, whole := firstTimed(t, l, bytes)
					if quick == 0 {
						t.Errorf("%d x %s, %s of %d bytes: no time", nodes, system, coll, bytes)
						continue
					}
					g, _ := l.growthOf(c)
					if n := g.operations(len(l.target.Topology.Ranks), c.Ways(), c.Channels); whole || n > 1<<20 {
						continue
					}
					exact, why, err := l.onFirst(t.Context(), nodes, g, c, bytes)
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
// or on more nodes with as much for each rank and the same choice. But for COLLTUNE_LONG, every
// other collective on every other system.
func TestSteadyStateIsMonotone(t *testing.T) {
	counts, sizes, every := []int{32, 256}, []int64{4 << 10, 1 << 20}, 2
	if os.Getenv("COLLTUNE_LONG") != "" {
		every = 1
		counts, sizes = []int{20, 32, 100, 256, 1024}, []int64{1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20}
	}
	for s, system := range steadySystems {
		for c, coll := range steadyCollectives {
			if (s+c)%every != 0 {
				continue
			}
			before := map[string]float64{} // by choice and size of a rank: on fewer nodes
			for _, nodes := range counts {
				l, _ := on(t, system, nodes, coll, Options{})
				last, choice := 0.0, ""
				for _, each := range sizes {
					bytes := each * int64(len(l.target.Topology.Ranks))
					if bytes > 8<<30 {
						break
					}
					c, us, whole := firstTimed(t, l, bytes)
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
	for _, c := range []struct {
		system     string
		nodes      int
		collective string
		sizes      []int64
	}{
		{"dgx-a100", 14, "alltoall", []int64{1 << 20}}, // more threadblocks than SMs
		{"dgx-a100", 256, "alltoall", []int64{64 << 20}},
		{"dgx-a100", 256, "allgather", []int64{1 << 30}},
		{"frontier", 256, "allgather", []int64{16 << 20, 1 << 30}},
		{"perlmutter", 512, "reducescatter", []int64{16 << 20}},
	} {
		l, _ := on(t, c.system, c.nodes, c.collective, Options{})
		for _, call := range l.calls(t, c.sizes...) {
			if !strings.HasSuffix(call.Name, steadyMark) || call.From != SteadyState || call.US <= 0 || call.Program != nil {
				t.Errorf("%v, %d bytes: %s, %v us by %s", c, call.Bytes, call.Name, call.US, call.From)
			}
		}
		b := program.New(l.target, program.Options{Solver: "pb", Memory: 1 << 30})
		if calls, err := New(b, Options{Measured: true}, func(string) {}).Calls(t.Context(), c.sizes); err != nil || len(calls) != 0 {
			t.Errorf("%v on an executor that measures: %+v, %v", c, calls, err)
		}
		b.Close()
	}
}

// TestBaselineByWayOfOtherGPUs: where GPUs of a node have no link, the library's sends pass
// others. A large alltoall takes at least as long as the busiest link, and at most twice.
func TestBaselineByWayOfOtherGPUs(t *testing.T) {
	for _, system := range []string{"frontier", "mi250x", "mi250", "dgx-1", "ndv2"} {
		for _, coll := range []string{"alltoall", "gather", "scatter", "sendrecv", "alltonext"} {
			for _, nodes := range []int{1, 4} {
				l, _ := on(t, system, nodes, coll, Options{})
				calls := l.calls(t, 64<<10, 1<<30)
				for _, c := range calls {
					if !strings.HasSuffix(c.Name, forwardedMark) || c.US <= 0 {
						t.Errorf("%d x %s, %s of %d bytes: %s, %v us", nodes, system, coll, c.Bytes, c.Name, c.US)
					}
				}
				if coll != "alltoall" || nodes > 1 {
					continue
				}
				all, busy, most := l.target.Topology.Forwarding(), map[int]float64{}, 0.0
				for a := range all.Ranks {
					for b := range all.Ranks {
						path, _ := all.Path(a, b)
						for _, e := range path.Edges {
							busy[e] += float64(1<<30) / float64(len(all.Ranks)) / all.Edges[e].Bandwidth.PerMicro()
							most = max(most, busy[e])
						}
					}
				}
				if ratio := calls[1].US / most; ratio < 1 || ratio > 2 {
					t.Errorf("%s: an alltoall of 1 GiB takes %.0f us, %.2f of the %.0f of its busiest link", system, calls[1].US, ratio, most)
				}
			}
		}
	}
}

// TestCountsOnFewNodes: where all nodes are simulated, counts may differ.
func TestCountsOnFewNodes(t *testing.T) {
	l, _ := on(t, "frontier", 1, "allgatherv", Options{})
	even := l.calls(t, 1<<20)[0]
	target := l.target
	target.Counts = []int{1, 1, 1, 1, 1, 1, 1, 9}
	if uneven := libraryOf(t, target, Options{}, func(string) {}).calls(t, 1<<20)[0]; uneven.US <= even.US {
		t.Errorf("%v us: want longer than the %v of equal counts", uneven.US, even.US)
	}
}

// TestNoSteadyState: where nodes differ, or what each rank sends, no step repeats another.
func TestNoSteadyState(t *testing.T) {
	for _, change := range []func(*Library, *nccl.Choice){
		func(l *Library, _ *nccl.Choice) {
			l.target.Topology = l.target.Topology.Calibrated(topologies.Calibration{})
			l.target.Topology.Edges[3].Bandwidth *= 2
		},
		func(l *Library, _ *nccl.Choice) { l.target.Collective, l.target.Counts = "alltoallv", []int{1, 2} },
		func(l *Library, c *nccl.Choice) { l.target.Collective, c.Family = "allreduce", "nvls" },
	} {
		l, _ := on(t, "dgx-a100", 16, "alltoall", Options{})
		c := &nccl.Choice{Family: "direct", Channels: 1, Protocol: topologies.LL}
		if _, why := l.growthOf(c); why != "" {
			t.Fatalf("nothing is changed yet: %s", why)
		}
		change(l, c)
		if _, why := l.growthOf(c); why == "" {
			t.Errorf("%s on %s has a steady state", l.target.Collective, l.target.Topology.Name)
		}
	}
}

// BenchmarkLibraryAt9216 times the library's calls at Frontier's scale of 2024.
func BenchmarkLibraryAt9216(b *testing.B) {
	l, _ := on(b, "frontier", 1152, "allgather", Options{})
	for b.Loop() {
		libraryOf(b, l.target, Options{}, func(string) {}).calls(b, 16<<20, 64<<20, 256<<20, 1<<30)
	}
}
