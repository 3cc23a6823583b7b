package search

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies/topotest"
)

// gathering is an enumeration of an allgather of 16 MiB to 1 GiB.
func gathering(t testing.TB, system string, nodes int) *enumeration {
	t.Helper()
	topology := topotest.Resolve(t, system, nodes)
	p := &Problem{Topology: topology, Call: collective.Call{Collective: "allgather", Op: "sum", DType: "f32"}, Sizes: []int64{1 << 24, 1 << 27, 1 << 30}}
	return &enumeration{problem: p, options: &Options{Jobs: 2}, machine: machineOf(topology)}
}

func TestTakeTurns(t *testing.T) {
	inf := math.Inf(1)
	for _, row := range []struct {
		name  string
		times [][]float64
		n     int
		want  []bool
	}{
		{"each size its best", [][]float64{{1, 2, 3, 4}, {4, 3, 2, 1}}, 2, []bool{true, false, false, true}},
		{"the same of both", [][]float64{{1, 2, 3, 4}, {1, 3, 2, 4}}, 2, []bool{true, false, true, false}},
		{"of near equals the first", [][]float64{{1.002, 1.001, 1, 4}}, 1, []bool{true, false, false, false}},
		{"without a time first", [][]float64{{1, 2, 0, 4}, {1, 2, 0, 4}}, 2, []bool{true, false, true, false}},
		{"without a time all", [][]float64{{0, 0, 0, 4}}, 2, []bool{true, true, true, false}},
		{"never", [][]float64{{inf, 2, inf, 4}}, 4, []bool{false, true, false, true}},
	} {
		if got := takeTurns(row.times, row.n); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// A small grid, or a small system, is left as it is; a sample keeps the kind of the system.
func TestSample(t *testing.T) {
	for _, c := range []struct {
		system       string
		nodes, want  int
		counts, root int
	}{
		{"perlmutter", 512, 64, 0, 0},
		{"dgx-a100", 256, 64, 0, 0},
		{"frontier", 192, 96, 0, 0},
		{"dgx-a100", 64, 0, 0, 0},
		{"dgx-a100", 63, 0, 0, 0},
		{"perlmutter", 512, 0, 2048, 0},
		{"perlmutter", 512, 0, 0, 2047},
	} {
		e := gathering(t, c.system, c.nodes)
		e.problem.Counts, e.problem.Root = make([]int, c.counts), c.root
		small, got := e.sample(), 0
		if small != nil {
			got = small.problem.Topology.Nodes
		}
		if got != c.want {
			t.Errorf("%s × %d, %d counts, root %d: a sample of %d nodes, want %d", c.system, c.nodes, c.counts, c.root, got, c.want)
		}
	}
}

// Over 2,048 ranks, few of many sets are traced, and every other is refused by name.
func TestPromising(t *testing.T) {
	e, f := gathering(t, "perlmutter", 512), familyFor(t, "multi-level", "allgather")
	grid, err := f.GridFor(e.machine, e.request(), map[string]string{"shuffle": "True", "top": "recursive"})
	if err != nil {
		t.Fatal(err)
	}
	keep, refused, err := e.promising(t.Context(), f, grid)
	if err != nil || len(keep) != 16 || len(keep)+len(refused) != len(grid) {
		t.Fatalf("%d of %d kept, %d refused, %v: want 16", len(keep), len(grid), len(refused), err)
	}
	for _, r := range refused {
		if !strings.HasPrefix(r.Candidate, "multi-level ") || r.Reason != Outranked && r.Reason != Threadblocks {
			t.Errorf("refused: %v", r)
		}
	}
	if keep, refused, err := e.promising(t.Context(), f, grid[:16]); err != nil || len(keep) != 16 || len(refused) > 0 {
		t.Errorf("of 16: %d kept, %d refused, %v", len(keep), len(refused), err)
	}
}
