package program

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/topologies/topotest"
)

// grids are the routings of a family on a system, as a search asks for them.
func grids(t *testing.T, system string, nodes int, coll, family string, o Options) ([]script.Params, []Refusal) {
	t.Helper()
	f, b := familyFor(t, family, coll), on(t, system, nodes, coll, o)
	grid, refused, err := b.routings(t.Context(), f, o.Fixed(f))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grid {
		if _, err := f.Trace(b.machine, b.target.Request(), g); err != nil {
			t.Errorf("%s %v: %v", family, g, err)
		}
	}
	return grid, refused
}

// TestHolesAreFilledWhereTheyHelp: a hole is filled where what the family falls back
// on does not hold or is not as good, and is else left open.
func TestHolesAreFilledWhereTheyHelp(t *testing.T) {
	for _, c := range []struct {
		system       string
		nodes        int
		collective   string
		family, hole string
		open, filled int    // routings
		refused      string // part of the first refusal
	}{
		{"dgx-a100", 2, "alltoall", "two-step", "nics", 1, 0, ""},
		{"polaris", 2, "alltonext", "multi-nic", "nics", 1, 0, ""},
		{"dgx-a100", 1, "alltoall", "two-step", "nics", 0, 0, ""},
		{"dgx-2-teccl", 2, "alltoall", "three-step", "nics", 0, 2, ""},
		{"dgx-2-teccl", 2, "allreduce", "hierarchical", "nics", 0, 14, ""},
		{"ndv2-teccl", 2, "alltoall", "two-step", "nics", 0, 0, "no NIC for gpu 5 of a node to send by"},
		{"dgx-1", 2, "allreduce", "hierarchical", "order", 0, 14, ""},
		{"dgx-a100", 2, "allreduce", "hierarchical", "order", 14, 0, ""},
		{"ring:6", 1, "broadcast", "spanning-trees", "parents", 4, 8, "no 3 trees from gpu 0 that share no link: 2 links lead into gpu 1 (from gpu 0 and gpu 2)"},
		{"dgx-1", 1, "allreduce", "spanning-trees", "parents", 4, 20, ""},
		{"dgx-a100", 1, "allreduce", "spanning-trees", "parents", 0, 0, ""},
	} {
		grid, refused := grids(t, c.system, c.nodes, c.collective, c.family, Options{Simulated: true})
		open, filled := 0, 0
		for _, g := range grid {
			if g[c.hole] == nil {
				open++
			} else {
				filled++
			}
		}
		why := ""
		if len(refused) > 0 {
			why = refused[0].Detail
		}
		if open != c.open || filled != c.filled || !strings.Contains(why, c.refused) || (why == "") != (c.refused == "") {
			t.Errorf("%d × %s, %s, %s: %d routings with %s open and %d with it filled, %q; want %d and %d, %q", c.nodes, c.system, c.collective, c.family, open, c.hole, filled, why, c.open, c.filled, c.refused)
		}
	}
	// Asked for, trees are found where every two ranks are linked as well.
	grid, _ := grids(t, "dgx-a100", 1, "allreduce", "spanning-trees", Options{Simulated: true, Families: []string{"spanning-trees"}})
	if len(grid) == 0 || grid[0]["parents"] == nil {
		t.Errorf("spanning-trees asked for on a DGX A100: %d routings", len(grid))
	}
}

// On systems as their vendors number them rank order is mostly the widest, and then
// nothing is added to it.
func TestRankOrderIsKeptWhereItIsWidest(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
	}{{"dgx-a100", 1}, {"dgx-a100", 4}, {"dgx-h100", 2}, {"gb200-nvl72", 1}, {"l40s-8", 1}, {"ring:8", 1}, {"fullmesh:8", 1}, {"hub:16", 1}, {"ring:64", 1}} {
		topology := topotest.Resolve(t, c.topology, c.nodes)
		b := builderOn(t, topology, "allreduce", Options{})
		for _, count := range []int{1, 2, 4, 8} {
			if rings.Width(topology, inSequence(topology, count)) == 0 {
				continue
			}
			rings, err := b.holes.widerRings(t.Context(), topology, question{count: count, open: true})
			if rings != nil || err != nil {
				t.Errorf("%d × %s: %d rings %v, %v", c.nodes, c.topology, count, rings, err)
			}
		}
	}
}

// TestMoreRingsThanThereAre: of rings that could not be found, more are not asked
// for, and the refusal says so.
func TestMoreRingsThanThereAre(t *testing.T) {
	h := on(t, "frontier", 1, "allreduce", Options{}).holes
	if _, err := h.ringsEverywhere(t.Context(), question{count: 7}); err == nil {
		t.Fatal("seven rings on a frontier")
	}
	h.solvers = &solvers{options: solver.Options{Solver: "none"}} // nobody is there to be asked
	var refusal *Refusal
	if _, err := h.ringsEverywhere(t.Context(), question{count: 8}); !errors.As(err, &refusal) || !strings.Contains(refusal.Detail, "not even 7: ") {
		t.Errorf("eight rings: %v, want that there are not even 7", err)
	}
}

func TestDistinct(t *testing.T) {
	a, b := []int{0, 1, 2, 3}, []int{0, 3, 2, 1}
	for _, c := range []struct {
		lists [][]int
		want  int
	}{
		{nil, 0},
		{[][]int{a}, 1},
		{[][]int{a, b}, 2},
		{[][]int{a, a}, 1},
		{[][]int{a, a, b}, 3},
		{[][]int{a, b, a, b}, 2},
		{[][]int{a, a, b, b}, 2},
		{[][]int{a, a, a, b}, 4},
	} {
		if got := distinct(c.lists); got != c.want {
			t.Errorf("%v: %d, want %d", c.lists, got, c.want)
		}
	}
}
