package search

import (
	"math"
	"slices"
	"strings"
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
	looked, left := map[string]int{}, 0
	late := func(s stage, _, _ int, part float64) bool { return part < 1 }
	err = r.eachPlacement(nil, late, func(p *placement) error {
		all, err := p.drafts(t.Context())
		for _, d := range all.Drafts {
			if looked[d.Name] == 0 || d.Routing != all.Drafts[0].Routing {
				looked[d.Name]++
			}
		}
		for _, u := range all.Unexplored {
			left += u.N
		}
		for _, r := range all.Refusals {
			looked[strings.Fields(r.Candidate)[0]]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.asked {
		if looked[f.Name] == 0 {
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
	err = r.eachPlacement(nil, neverLate, func(p *placement) error {
		chosen, err := p.worthBuilding(t.Context())
		if err != nil {
			return err
		}
		if err := p.Summarize(t.Context(), chosen.Drafts, true); err != nil {
			return err
		}
		order, compared := p.order(chosen.Drafts), 0
		if sorted := slices.Sorted(slices.Values(order)); len(sorted) != len(chosen.Drafts) || sorted[0] != 0 || sorted[len(sorted)-1] != len(sorted)-1 {
			t.Fatalf("%d of %d drafts in order", len(sorted), len(chosen.Drafts))
		}
		for at, i := range order {
			if chosen.Drafts[i].Compared {
				if compared++; compared != at+1 {
					t.Errorf("%s, of the baseline, is number %d", chosen.Drafts[i], at)
				}
			}
		}
		if compared == 0 {
			t.Error("nothing is of the baseline")
		}
		for _, bytes := range sizes {
			least, best := math.Inf(1), math.Inf(1)
			for _, d := range chosen.Drafts {
				if p.Unfitting(d) == nil {
					least = min(least, p.Estimate(d, bytes))
				}
			}
			for _, i := range order[:compared+len(sizes)] {
				best = min(best, p.Estimate(chosen.Drafts[i], bytes))
			}
			if best > least {
				t.Errorf("%d bytes: the best of the first %d drafts takes %.1f us, and another %.1f", bytes, compared+len(sizes), best, least)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
