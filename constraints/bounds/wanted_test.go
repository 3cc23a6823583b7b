package bounds

import (
	"math/big"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// TestWanted: with counts that are all 1 the vector forms are bounded by what a
// rank's own links allow, which is at most as strict as the plain form's bound,
// and as strict where nothing but a rank's links is in the way.
func TestWanted(t *testing.T) {
	for _, name := range collective.VectorForms() {
		for _, on := range []struct {
			system string
			nodes  int
			equal  bool
		}{{"dgx-a100", 1, true}, {"dgx-a100", 2, false}, {"mesh:3x3", 0, false}, {"ring:6", 0, false}} {
			top := resolve(t, on.system, on.nodes)
			n := len(top.Ranks)
			counts := make([]int, collective.CountsOf(name, n))
			for i := range counts {
				counts[i] = 1
			}
			of := func(s collective.Spec) Bound {
				s.Ranks, s.Chunks = n, 1
				c, err := collective.New(s)
				if err != nil {
					t.Fatal(err)
				}
				b, err := Of(top, c)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			plain, counted := of(collective.Spec{Name: name}), of(collective.Spec{Name: name, Counts: counts})
			if plain.LatencySteps != counted.LatencySteps || plain.LatencyUS != counted.LatencyUS {
				t.Errorf("%s on %s: latency of %d steps, %v us; of the plain form %d and %v", name, on.system, counted.LatencySteps, counted.LatencyUS, plain.LatencySteps, plain.LatencyUS)
			}
			if d := counted.AlgbwBps.Cmp(plain.AlgbwBps); d < 0 || d > 0 && on.equal {
				t.Errorf("%s on %s: %v B/s, without counts %v", name, on.system, counted.AlgbwBps, plain.AlgbwBps)
			}
			if whole := of(collective.Spec{Name: "alltoall"}).AlgbwBps; name == "alltoallv" && plain.AlgbwBps.Cmp(new(big.Rat).Mul(whole, big.NewRat(int64(n), 1))) != 0 {
				t.Errorf("alltoallv on %s: %v B/s of all, alltoall %v of a rank's", on.system, plain.AlgbwBps, whole)
			}
		}
	}
}

// TestWantedCountsOnce: what a rank has is not needed, and what several want
// leaves once.
func TestWantedCountsOnce(t *testing.T) {
	top := resolve(t, "ring:4@10GB/s", 0)
	in := func(rank int) collective.Want { return collective.Want{Kind: collective.WantInput, Rank: rank} }
	table := &collective.Table{In: []int{1, 1, 1, 1}, Out: []int{1, 1, 1, 2}, Want: [][]collective.Want{{in(0)}, {in(0)}, {in(0)}, {in(0), in(0)}}}
	c, err := collective.New(collective.Spec{Name: "same", Ranks: 4, Chunks: 3, Custom: table})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Of(top, c)
	if err != nil {
		t.Fatal(err)
	}
	// The size is 2 units; one comes to a rank, over two links of 10 GB/s.
	if b.Exact != "40" || b.LatencySteps != 2 {
		t.Errorf("%s GB/s in %d steps, want 40 in 2: %s", b.Exact, b.LatencySteps, b.Proof)
	}
	table.Want = [][]collective.Want{{in(0)}, {in(1)}, {in(2)}, {in(3), {}}}
	if b, err = Of(top, c); err != nil || b.AlgbwBps != nil || b.TimeUS(1<<20) != 0 {
		t.Errorf("nothing has to move: %+v, %v", b, err)
	}
}
