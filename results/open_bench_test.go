package results

import "testing"

// BenchmarkOpen reads a campaign of 100,000 trials.
func BenchmarkOpen(b *testing.B) {
	const n, batch = 100_000, 10_000
	c := newCampaign(b, testPlan())
	trial := testTrial(b, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 13.575000516690857)
	for i := 0; i < n; i += batch {
		trials := make([]Trial, batch)
		for j := range trials {
			trials[j] = trial
			trials[j].TileBytes = int64(i + j + 1)
			trials[j] = keyed(c, trials[j])
		}
		appendAll(b, c, trials...)
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := OpenReadOnly(c.Dir())
		if err != nil {
			b.Fatal(err)
		}
		if got := len(r.Trials()); got != n {
			b.Fatalf("%d trials", got)
		}
	}
}
