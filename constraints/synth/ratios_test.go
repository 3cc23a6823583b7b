package synth

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

// A queue yields the ratios R/C between two others, in ascending order, each once.
func TestRatioQueueIsComplete(t *testing.T) {
	c, err := collective.New(collective.Spec{Name: "broadcast", Ranks: 4, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(context.Background(), Query{Topology: resolve(t, "ring:4", 0), Collective: c, Steps: 2, Rounds: 2})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		chunks, steps := rapid.IntRange(1, 12).Draw(t, "chunks"), rapid.IntRange(1, 4).Draw(t, "steps")
		least := big.NewRat(rapid.Int64Range(1, 20).Draw(t, "least"), rapid.Int64Range(1, 9).Draw(t, "over"))
		below := new(big.Rat).Add(least, big.NewRat(rapid.Int64Range(0, 20).Draw(t, "more"), 3))
		var want []rcRatio
		for c := 1; c <= chunks; c++ {
			for r := steps; big.NewRat(int64(r), int64(c)).Cmp(below) < 0; r++ {
				if one := (rcRatio{c, r}); one.rat().Cmp(least) >= 0 {
					want = append(want, one)
				}
			}
		}
		slices.SortStableFunc(want, func(a, b rcRatio) int { return a.rat().Cmp(b.rat()) })
		l := p.ratioQueue(FrontierOptions{Chunks: chunks}, steps, least, below)
		for i, w := range want {
			got, last, ok := l.next()
			if !ok || got != w || last != (i+1 == len(want) || want[i+1].rat().Cmp(w.rat()) != 0) {
				t.Fatalf("ratio %d: %v, last %v, %v; want %v of %v", i, got, last, ok, w, want)
			}
		}
		if r, _, ok := l.next(); ok {
			t.Fatalf("%v after the last", r)
		}
	})
}

// A refuted ratio covers all harder ones, and no kept ratio covers another.
func TestRefutedCoversHarderRatios(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.Custom(func(t *rapid.T) rcRatio {
			return rcRatio{rapid.IntRange(1, 8).Draw(t, "chunks"), rapid.IntRange(1, 8).Draw(t, "rounds")}
		})
		all := rapid.SliceOfN(draw, 0, 10).Draw(t, "refuted")
		var k refutedSet
		for _, r := range all {
			k.add(r)
		}
		for i, a := range k {
			for j, b := range k {
				if i != j && a.chunks <= b.chunks && a.rounds >= b.rounds {
					t.Fatalf("%v covers %v, and both are kept", a, b)
				}
			}
		}
		r := draw.Draw(t, "ratio")
		want := slices.ContainsFunc(all, func(o rcRatio) bool { return o.chunks <= r.chunks && o.rounds >= r.rounds })
		if k.covers(r) != want {
			t.Fatalf("%v covers %v: %v, want %v", k, r, !want, want)
		}
	})
}

// No routing has a smaller R/C than the flow bound for its steps; with many chunks, flows
// refute nothing slightly above that bound.
func TestCutBoundHolds(t *testing.T) {
	s := open(t, "pb")
	said, met, tight := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ranks, switches, links := drawn(t)
		top := system(ranks, switches, links)
		name := rapid.SampledFrom([]string{"allgather", "broadcast", "gather", "scatter", "alltoall", "alltonext", "reduce", "reducescatter", "allreduce"}).Draw(t, "collective")
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		problemOf := func(chunks, rounds int) *problem {
			c, err := collective.New(collective.Spec{Name: name, Ranks: ranks, Chunks: chunks})
			if err != nil {
				t.Fatal(err)
			}
			p, err := newProblem(context.Background(), Query{Topology: top, Collective: c, Steps: steps, Rounds: rounds})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		one := problemOf(1, steps)
		if far, err := one.minSteps(); err != nil || far > steps {
			return
		}
		low, err := one.cutBound(context.Background(), solveBudget{}, new(big.Rat))
		if err != nil {
			t.Fatal(err)
		}
		if low == nil {
			return
		}
		said++
		each := int64(one.perChunk())
		p := problemOf(rapid.IntRange(1, 3).Draw(t, "chunks"), steps+rapid.IntRange(0, 3).Draw(t, "more"))
		asked := big.NewRat(int64(p.Rounds), int64(p.Collective.Chunks)*each)
		a, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == sat {
			met++
			if asked.Cmp(low.ratio) < 0 {
				t.Fatalf("%s in %d rounds, and flows say R/C is %s at least", p.name(), p.Rounds, low.ratio.RatString())
			}
		}
		const many = 24
		least := new(big.Rat).Mul(low.ratio, big.NewRat(many*each, 1))
		rounds, _ := least.Float64()
		if p = problemOf(many, int(rounds)+steps+1); p.reduces && !p.sumsEverywhere() {
			p = p.reversedProblem()
		}
		var refuted *Refutation
		if p.sumsEverywhere() {
			_, refuted, err = p.boundSums(context.Background())
		} else {
			_, refuted, err = p.bound(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		if refuted == nil {
			tight++
		} else if name != "allreduce" || one.net.ranks > 2 { // there sends are counted as well
			sends, room := p.sends()
			if name != "allreduce" || sends <= room*p.Rounds {
				t.Fatalf("%s with %d rounds is refuted (%s), and flows say R/C is %s at least", p.name(), p.Rounds, refuted.Reason, low.ratio.RatString())
			}
		}
	})
	t.Logf("%d bounds, %d routings held against them, %d tight", said, met, tight)
	if said < 20 || met < 10 || tight < 10 {
		t.Errorf("%d bounds, %d routings, %d tight: too few to mean much", said, met, tight)
	}
}

// The bounds on R/C for any number of chunks on a DGX-1, which the frontier's first two
// points meet.
func TestCutBoundDGX1(t *testing.T) {
	for _, w := range []struct {
		name  string
		steps int
		want  string
	}{{"allgather", 2, "3/2"}, {"allgather", 3, ""}, {"broadcast", 2, "1"}, {"broadcast", 3, "9/22"}, {"reduce", 3, "9/22"}} {
		c, err := collective.New(collective.Spec{Name: w.name, Ranks: 8, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProblem(context.Background(), Query{Topology: resolve(t, "dgx-1", 0), Collective: c, Steps: w.steps, Rounds: w.steps})
		if err != nil {
			t.Fatal(err)
		}
		low, err := p.cutBound(context.Background(), solveBudget{}, p.leastRatio())
		if err != nil || (low == nil) != (w.want == "") || low != nil && low.ratio.RatString() != w.want {
			t.Errorf("%s in %d steps: %+v, %v; want %s", w.name, w.steps, low, err, w.want)
		}
	}
}

// TestFrontierOfManyChunks: without a limit on chunks a frontier search of 64 ranks
// starts; six chunks a pair of ranks are refused as too many.
func TestFrontierOfManyChunks(t *testing.T) {
	const ranks = 64
	c, err := collective.New(collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	q := Query{Topology: resolve(t, "torus:8x8", 1), Collective: c}
	if _, _, err := Frontier(done, open(t, "pb"), q, FrontierOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want that it was cancelled", err)
	}
	var bad *QueryError
	if _, _, err := Frontier(context.Background(), open(t, "pb"), q, FrontierOptions{Chunks: 6 * ranks}); !errors.As(err, &bad) {
		t.Errorf("%v: want that these are too many", err)
	}
}

// The bound is not computed if no ratio below it is in the search: R/C below 1/2 in four
// steps takes more than 8 chunks.
func TestNothingToAsk(t *testing.T) {
	p := spreading(t, Query{Topology: resolve(t, "dgx-1", 0), Steps: 1, Rounds: 1}, "broadcast", 1)
	for chunks, asked := range map[int]bool{8: false, 9: true} {
		w := FrontierOptions{Chunks: chunks}
		p.frontier = &frontierCache{pricings: map[string]*pricing{}}
		if _, err := p.pointAt(context.Background(), open(t, "pb"), solveBudget{}, w, 4, p.leastRatio(), big.NewRat(1, 2)); err != nil {
			t.Fatal(err)
		}
		if looked := len(p.frontier.pricings) > 0; looked != asked {
			t.Errorf("%d chunks: whether bounds were looked for is %v", chunks, looked)
		}
	}
}
