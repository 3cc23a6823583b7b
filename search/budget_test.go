package search

import (
	"math"
	"slices"
	"testing"
)

// TestBudgetLooksAtEveryFamily: however much of a budget the families before it took, each has
// its first routing while there is time to trace.
func TestBudgetLooksAtEveryFamily(t *testing.T) {
	p, _ := problem{"dgx-a100", 2, "allreduce", []int64{1 << 20}}.resolve(t)
	r, err := resolve(p, Options{Executor: "sim", Solver: "pb"})
	if err != nil {
		t.Fatal(err)
	}
	e := &enumeration{problem: &r.problem.placements()[0], options: &r.options, machine: machineOf(p.Topology), of: 1}
	defer e.close()
	e.expired = func(s stage, _, _ int, part float64) bool { return part < 1 }
	all, err := e.drafts(t.Context(), r.asked)
	if err != nil {
		t.Fatal(err)
	}
	looked, left := map[string]int{}, 0
	for _, d := range all.drafts {
		if looked[d.name] == 0 || d.routing != all.drafts[0].routing {
			looked[d.name]++
		}
	}
	for _, u := range all.unexplored {
		left += u.n
	}
	for i, f := range r.asked {
		if whys, _ := e.unfit(f); looked[f.Name] == 0 && whys == "" {
			t.Errorf("%s, number %d, has not been looked at", f.Name, i)
		}
	}
	if left == 0 {
		t.Error("nothing is left for later")
	}
}

// TestBudgetBuildsThePromisingFirst: a budget has the baseline's programs compiled first, and
// then the one with the best estimate at each size, before any other.
func TestBudgetBuildsThePromisingFirst(t *testing.T) {
	sizes := []int64{1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30}
	p, _ := problem{"dgx-a100", 2, "allreduce", sizes}.resolve(t)
	r, err := resolve(p, Options{Executor: "sim", Solver: "pb"})
	if err != nil {
		t.Fatal(err)
	}
	e := &enumeration{problem: &r.problem.placements()[0], options: &r.options, machine: machineOf(p.Topology), of: 1}
	defer e.close()
	chosen, _, err := e.worthBuilding(t.Context(), r.asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.summarizeAll(t.Context(), chosen.drafts, true); err != nil {
		t.Fatal(err)
	}
	e.expired = func(stage, int, int, float64) bool { return false }
	order, compared := e.order(chosen.drafts), 0
	if sorted := slices.Sorted(slices.Values(order)); len(sorted) != len(chosen.drafts) || sorted[0] != 0 || sorted[len(sorted)-1] != len(sorted)-1 {
		t.Fatalf("%d of %d drafts in order", len(sorted), len(chosen.drafts))
	}
	for at, i := range order {
		if len(chosen.drafts[i].points) > 0 {
			if compared++; compared != at+1 {
				t.Errorf("%s, of the baseline, is number %d", chosen.drafts[i], at)
			}
		}
	}
	for _, bytes := range sizes {
		least := math.Inf(1)
		for _, d := range chosen.drafts {
			if e.unfitting(d) == nil {
				least = min(least, e.estimate(d, bytes))
			}
		}
		best := math.Inf(1)
		for _, i := range order[:compared+len(sizes)] {
			best = min(best, e.estimate(chosen.drafts[i], bytes))
		}
		if best > least {
			t.Errorf("%d bytes: the best of the first %d drafts takes %.1f us, and another %.1f", bytes, compared+len(sizes), best, least)
		}
	}
}
