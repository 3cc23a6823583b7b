package synth

import (
	"context"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

// TestBoundsAgainstBruteForce compares the bounds on copied chunks with exhaustive search
// on random small systems: no split of rounds that has a routing is excluded (by flows, by
// the optimal dual prices or by arbitrary ones), no R/C that has one lies below a bound,
// and every routing that packing finds is among those of the exhaustive search.
func TestBoundsAgainstBruteForce(t *testing.T) {
	routed, excludes, packed := 0, map[string]int{}, 0
	check := func(t *rapid.T) {
		ranks, switches, links := drawn(t)
		spec := collective.Spec{Ranks: ranks, Chunks: rapid.IntRange(1, 3).Draw(t, "chunks")}
		spec.Name = rapid.SampledFrom([]string{"broadcast", "broadcast", "allgather"}).Draw(t, "collective")
		if spec.Name == "broadcast" {
			spec.Root = rapid.IntRange(0, ranks-1).Draw(t, "root")
		} else if ranks > 2 {
			spec.Chunks = 1
		}
		c, err := collective.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		q := Query{Topology: system(ranks, switches, links), Collective: c, Steps: steps,
			Rounds: steps + rapid.IntRange(0, 3).Draw(t, "more"), Unit: gb}
		p, err := newProblem(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		b := p.newPricing()
		if b == nil {
			return // of two ranks, or too far apart: flows and distances are all
		}
		all := splits(p.Steps, p.Rounds)
		open, refuted, err := p.bound(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "cuts") { // any prices will do
			prices := rapid.SliceOfN(rapid.Float64Range(0, 1), len(b.width)*steps, len(b.width)*steps).Draw(t, "prices")
			if slices.Max(prices) > 0 {
				c, _ := b.cut(prices, never)
				b.cuts = append(b.cuts, c)
			}
		}
		some := false
		for _, split := range all {
			can, settled := bruteForce(q, split...)
			if !settled {
				return
			}
			some = some || can
			said := map[string]bool{
				"flows":      refuted != nil || !slices.ContainsFunc(open, func(o []int) bool { return slices.Equal(o, split) }),
				"any prices": b.excludes(spec.Chunks, split),
			}
			said["the best prices"] = b.judge(spec.Chunks, split, never) == excluded
			for who, says := range said {
				if says && can {
					t.Fatalf("%s of %d chunks on %v in rounds %v: excluded by %s, and there is a routing", spec.Name, spec.Chunks, links, split, who)
				}
				if says {
					excludes[who]++
				}
			}
			if !said["the best prices"] && packed < 200 {
				if sched := b.pack(context.Background(), byWork(time.Hour), p, [][]int{split}, 100_000); sched != nil {
					packed++
					if err := Replay(q, p.net.unit, p.names(), sched); err != nil || !can {
						t.Fatalf("%s of %d chunks on %v in rounds %v: a packing, and there is no routing (%v)", spec.Name, spec.Chunks, links, split, err)
					}
				}
			}
		}
		if !some {
			return
		}
		routed++
		has := big.NewRat(int64(p.Rounds), int64(spec.Chunks))
		floors := map[string]*big.Rat{"flows of any number of steps": p.leastRatio()}
		if f := p.newPricing().least(nil, never); f != nil {
			floors["the best prices"] = f.ratio
		}
		one, err := p.withChunks(1, steps, steps)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := one.cutBound(context.Background(), byWork(time.Hour), big.NewRat(1, 1000)); err != nil {
			t.Fatal(err)
		} else if f != nil {
			floors["flows in so many steps"] = f.ratio
		}
		for who, floor := range floors {
			if floor != nil && floor.Cmp(has) > 0 {
				t.Fatalf("%s of %d chunks on %v in %d steps: at least %v rounds a chunk by %s, and there is a routing of %v", spec.Name, spec.Chunks, links, steps, floor, who, has)
			}
		}
	}
	for range 10 * times() {
		rapid.Check(t, check)
	}
	t.Logf("%d with a routing, %v splits excluded, %d packed", routed, excludes, packed)
	if routed < 100 || len(excludes) < 3 || packed < 20 {
		t.Errorf("%d with a routing, %v splits excluded, %d packed: too few to mean much", routed, excludes, packed)
	}
}
