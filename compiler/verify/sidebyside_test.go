package verify

import (
	"math/rand"
	"reflect"
	"testing"
)

// inTurn is check with the stages of a row one after the other on one report.
func inTurn(c *checker) *Report {
	for _, row := range stages {
		for _, stage := range row {
			if stage(c); !c.r.OK() {
				return c.r
			}
		}
	}
	return c.r
}

// Concurrent checks report the findings of sequential ones, in that order, up to the
// same finding, every time.
func TestSideBySide(t *testing.T) {
	kinds := map[Kind]int{}
	for seed := range int64(600) {
		rng := rand.New(rand.NewSource(seed))
		p := randomProgram(rng)
		for range rng.Intn(4) {
			mutate(p, rng)
		}
		o := Options{Slots: rng.Intn(3), CallChunks: rng.Intn(3), MaxFindings: 1 + rng.Intn(4)}
		r := NewReport(o.MaxFindings)
		r.measure(p)
		want := inTurn(&checker{p: p, o: o, r: r, search: shortSearch})
		for range 2 {
			if got := Check(p, o); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: side by side %+v\nin turn %+v", seed, got, want)
			}
		}
		for _, f := range want.Findings {
			kinds[f.Kind]++
		}
	}
	for _, k := range []Kind{Deadlock, Race, WrongResult} {
		if kinds[k] == 0 {
			t.Errorf("no %s among the programs: %v", k, kinds)
		}
	}
}
