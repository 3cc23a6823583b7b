package search

import (
	"context"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/templates"
)

// grids are the routings of a family on a system, as a search asks for them.
func grids(t *testing.T, p problem, family string, o Options) ([]script.Params, []Refusal) {
	t.Helper()
	problem, _ := p.resolve(t)
	f, err := templates.Find(templates.Builtin(), family, p.collective)
	if err != nil {
		t.Fatal(err)
	}
	solvers, err := solver.Open(solver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer solvers.Close()
	e := &enumeration{problem: &problem, options: &o, machine: machineOf(problem.Topology), solvers: solvers}
	grid, refused, err := e.routings(context.Background(), f, o.fixed(f))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grid {
		if _, err := f.Trace(e.machine, script.Request{Collective: p.collective, InPlace: collective.DefaultInPlace(p.collective)}, g); err != nil {
			t.Errorf("%s %v: %v", family, g, err)
		}
	}
	return grid, refused
}

// TestHolesAreFilledWhereTheyHelp: a hole is filled where what the family falls back
// on does not hold or is not as good, and is else left open.
func TestHolesAreFilledWhereTheyHelp(t *testing.T) {
	sizes := []int64{1 << 20}
	for _, c := range []struct {
		problem
		family, hole string
		open, filled int    // routings
		refused      string // part of the first refusal
	}{
		{problem{"dgx-a100", 2, "alltoall", sizes}, "two-step", "nics", 1, 0, ""},
		{problem{"polaris", 2, "alltonext", sizes}, "multi-nic", "nics", 1, 0, ""},
		{problem{"dgx-a100", 1, "alltoall", sizes}, "two-step", "nics", 0, 0, ""},
		{problem{"dgx-2-teccl", 2, "alltoall", sizes}, "three-step", "nics", 0, 2, ""},
		{problem{"dgx-2-teccl", 2, "allreduce", sizes}, "hierarchical", "nics", 0, 14, ""},
		{problem{"ndv2-teccl", 2, "alltoall", sizes}, "two-step", "nics", 0, 0, "no NIC for gpu 5 of a node to send by"},
		{problem{"dgx-1", 2, "allreduce", sizes}, "hierarchical", "order", 0, 14, ""},
		{problem{"dgx-a100", 2, "allreduce", sizes}, "hierarchical", "order", 14, 0, ""},
		{problem{"ring:6", 1, "broadcast", sizes}, "spanning-trees", "parents", 4, 8, "no 3 trees from gpu 0 that share no link: 2 links lead into gpu 1 (from gpu 0 and gpu 2)"},
		{problem{"dgx-1", 1, "allreduce", sizes}, "spanning-trees", "parents", 4, 20, ""},
		{problem{"dgx-a100", 1, "allreduce", sizes}, "spanning-trees", "parents", 0, 0, ""},
	} {
		grid, refused := grids(t, c.problem, c.family, Options{Executor: "sim"})
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
			t.Errorf("%s, %s: %d routings with %s open and %d with it filled, %q; want %d and %d, %q", c.problem, c.family, open, c.hole, filled, why, c.open, c.filled, c.refused)
		}
	}
	// Asked for, trees are found where every two ranks are linked as well.
	grid, _ := grids(t, problem{"dgx-a100", 1, "allreduce", sizes}, "spanning-trees", Options{Executor: "sim", Families: []string{"spanning-trees"}})
	if len(grid) == 0 || grid[0]["parents"] == nil {
		t.Errorf("spanning-trees asked for on a DGX A100: %d routings", len(grid))
	}
}
