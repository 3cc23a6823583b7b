package verify

import (
	"math/rand"
	"testing"
)

// Before and after mirror each other, and agree with program order, messages and
// dependencies.
func TestBeforeMirrorsAfter(t *testing.T) {
	type pair struct{ a, b int32 }
	for seed := range 200 {
		p := randomProgram(rand.New(rand.NewSource(int64(seed))))
		c := &checker{p: p, r: NewReport(0), search: shortSearch}
		c.r.measure(p)
		for _, stage := range []func(*checker){(*checker).structure, (*checker).connections, (*checker).completes} {
			stage(c)
		}
		if !c.r.OK() {
			t.Fatal(c.r.Err())
		}
		paths := &paths{c: c}
		paths.prepare()
		want, before, after := map[pair]bool{}, map[pair]bool{}, map[pair]bool{}
		for s := range int32(len(c.order)) {
			if tb := c.stepTB[s]; s > 0 && c.stepTB[s-1] == tb {
				want[pair{s - 1, s}] = true
			}
			if c.from[s] >= 0 {
				want[pair{c.from[s], s}] = true
			}
			for _, d := range c.step(s).Deps {
				want[pair{c.met(c.tbGPU[c.stepTB[s]], d), s}] = true
			}
			paths.before(s, func(a int32) { before[pair{a, s}] = true })
			paths.after(s, func(b int32) { after[pair{s, b}] = true })
		}
		for name, got := range map[string]map[pair]bool{"before": before, "after": after} {
			if len(got) != len(want) {
				t.Fatalf("program %d: %s has %d pairs, want %d", seed, name, len(got), len(want))
			}
			for p := range got {
				if !want[p] {
					t.Fatalf("program %d: %s has step %d before %d", seed, name, p.a, p.b)
				}
			}
		}
	}
}
