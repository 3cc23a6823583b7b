package table

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// A size is slower or faster only beyond the tolerance, and if the intervals exclude
// equal times.
func TestDiffer(t *testing.T) {
	ring := irtest.Ring(4, 1, 0, true)
	campaign := func(p results.Plan, times map[int64][]float64) *results.Campaign {
		c := resultstest.Create(t, p)
		for _, n := range p.Sizes {
			if us := times[n]; us != nil {
				resultstest.Append(t, c, resultstest.Trial(t, c, ring, "ring", "LL", 32768, n, us...))
			}
		}
		return c
	}
	sizes := []int64{1024, 2048, 4096, 8192, 16384, 32768, 65536}
	before := campaign(resultstest.Plan(sizes...), map[int64][]float64{
		1024: {10}, 2048: {10}, 4096: {10}, 8192: {8, 10, 12}, 16384: {10}, 65536: {10},
	})
	p := resultstest.Plan(sizes...)
	p.Seed = 2
	after := campaign(p, map[int64][]float64{
		1024: {10.2}, 2048: {12}, 4096: {8}, 8192: {9, 11, 13}, 32768: {10}, 65536: {10},
	})
	for _, c := range []struct {
		tolerance float64
		want      string
	}{
		{0, "slower slower faster same gone new same"},
		{0.05, "same slower faster same gone new same"},
		{0.25, "same same same same gone new same"},
	} {
		d, err := Differ(before, after, c.tolerance)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		counts := map[string]int{}
		for i, r := range d.Rows {
			got = append(got, r.Verdict)
			counts[r.Verdict]++
			if r.Bytes != sizes[i] || (r.Ratio == nil) != (r.Before == nil || r.After == nil) {
				t.Errorf("row %+v", r)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("tolerance %g: %s, want %s", c.tolerance, s, c.want)
		}
		for _, v := range Verdicts {
			if d.Counts[v] != counts[v] {
				t.Errorf("tolerance %g: %d %s counted, %d there", c.tolerance, d.Counts[v], v, counts[v])
			}
		}
		if !slices.Equal(d.Asked, []string{"seed: 1 before, 2 after"}) {
			t.Errorf("differ in %q", d.Asked)
		}
	}

	// The other way round every ratio is its inverse.
	there, err := Differ(before, after, 0)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Differ(after, before, 0)
	if err != nil {
		t.Fatal(err)
	}
	opposite := map[string]string{Same: Same, Slower: Faster, Faster: Slower, Gone: New, New: Gone}
	for i, r := range there.Rows {
		if o := back.Rows[i]; o.Verdict != opposite[r.Verdict] || r.Ratio != nil && !near(*r.Ratio**o.Ratio, 1) {
			t.Errorf("%s there, %s back", r.Verdict, o.Verdict)
		}
	}
	if !near(*there.Ratio**back.Ratio, 1) {
		t.Errorf("means %g and %g", *there.Ratio, *back.Ratio)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A comparison names the sizes that it lacks, and the differences of what the campaigns
// were measured with.
func TestDifferencesOfCampaigns(t *testing.T) {
	ring := irtest.Ring(4, 1, 0, true)
	one := resultstest.Create(t, resultstest.Plan(1024))
	resultstest.Append(t, one, resultstest.Trial(t, one, ring, "ring", "LL", 32768, 1024, 5))
	other := resultstest.Plan(1024)
	other.Collective, other.Placement = "allgather", "out"
	if _, err := Differ(one, resultstest.Create(t, other), 0); err == nil || !strings.Contains(err.Error(), "of allreduce and ") {
		t.Errorf("another collective: %v", err)
	}
	if _, err := Differ(one, resultstest.Create(t, resultstest.Plan(2048)), 0); err == nil || !strings.Contains(err.Error(), "no size with a winner in common") {
		t.Errorf("other sizes: %v", err)
	}
	d, err := Differ(one, resultstest.Create(t, resultstest.Plan(1024)), 0)
	if err != nil || d.Ratio != nil || len(d.Rows) != 1 || d.Rows[0].Verdict != Gone {
		t.Errorf("no winner any more: %+v, %v", d, err)
	}
	if d, err := Differ(resultstest.Create(t, resultstest.Plan(1024)), resultstest.Create(t, resultstest.Plan(1024)), 0); !errors.Is(err, ErrNotAlike) {
		t.Errorf("no winner at all: %+v, %v", d, err)
	}
	p := resultstest.Plan(1024)
	p.Version = "0.2.0"
	two, err := results.Create(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	newer := resultstest.Executor
	newer.Version, newer.Fingerprint = "2", map[string]string{"driver": "550", "model": "1"}
	if _, err := two.SetExecutor(newer); err != nil {
		t.Fatal(err)
	}
	trial := resultstest.Trial(t, two, ring, "ring", "LL", 32768, 1024, 5)
	trial.Fingerprint = newer.Hash()
	resultstest.Append(t, two, trial)
	d, err = Differ(one, two, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"colltune: 0.1.0 before, 0.2.0 after", "version of fake: 1 before, 2 after", "driver: none before, 550 after"}
	if !slices.Equal(d.Asked, want) {
		t.Errorf("differ in %q, want %q", d.Asked, want)
	}
}
