package bounds

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
)

// TestNarrowest compares flows to ranks that are merged one after the other with the flow
// to each alone.
func TestNarrowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problemOf(t, turning(t))
		root := rapid.IntRange(0, p.n-1).Draw(t, "root")
		others := allBut(p.n, root)
		for name, net := range map[string]*scaledNetwork{"forward": p.forward, "backward": p.backward} {
			f := newFlow(net)
			want, first := int64(unlimited), 0
			for _, v := range others {
				if got := f.maxFlow(root, v); got < want {
					want, first = got, v
				}
			}
			if least, v := p.minRootedCut(net, root, others); least != want || v != first {
				t.Fatalf("%s: %d to rank %d, want %d to rank %d", name, least, v, want, first)
			}
		}
	})
}

func TestScattered(t *testing.T) {
	for n := 1; n < 70; n++ {
		if all := bitReversed(n); !slices.Equal(slices.Sorted(slices.Values(all)), lists.UpTo(n)) {
			t.Errorf("%d: %v", n, all)
		}
	}
	if all := bitReversed(6); !slices.Equal(all, []int{0, 4, 2, 1, 5, 3}) {
		t.Errorf("%v", all)
	}
}

// TestFewLooks limits each row's work more and more: the result stays a valid bound, and
// says that it is partial.
func TestFewLooks(t *testing.T) {
	defer func(most int64) { maxWork = most }(maxWork)
	all := maxWork
	said := 0
	for system, nodes := range map[string]int{"mesh:4x5": 1, "hypercube:4": 1, "hub:12": 1, "dgx-1": 2, "l40s-8": 3} {
		top := resolve(t, system, nodes)
		for name := range bandwidthRules {
			c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
			if err != nil {
				continue // with counts only
			}
			maxWork = all
			whole, err := Of(t.Context(), top, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, maxWork = range []int64{1, 100, 1000, 10_000} {
				part, err := Of(t.Context(), top, c)
				if err != nil {
					t.Fatal(err)
				}
				if part.AlgbwBps == nil || part.AlgbwBps.Cmp(whole.AlgbwBps) < 0 || part.LatencyUS > whole.LatencyUS || part.LatencySteps > whole.LatencySteps {
					t.Errorf("%s on %s with %d arcs to look at: %v, %v us; with all %v, %v us", name, system, maxWork, part.AlgbwBps, part.LatencyUS, whole.AlgbwBps, whole.LatencyUS)
				}
				if strings.Contains(part.Proof, "only") {
					said++
				} else if part.AlgbwBps.Cmp(whole.AlgbwBps) != 0 {
					t.Errorf("%s on %s with %d arcs to look at does not say what was left: %s", name, system, maxWork, part.Proof)
				}
			}
			if strings.Contains(whole.Proof, "only") {
				t.Errorf("%s on %s: %s", name, system, whole.Proof)
			}
		}
	}
	if said < 20 {
		t.Errorf("%d bounds were partial: too few to mean much", said)
	}
}

// TestFewLooksHaveTheirCut: however small the limit, the bound of a fan is what its cut
// carries.
func TestFewLooksHaveTheirCut(t *testing.T) {
	defer func(most int64) { maxWork = most }(maxWork)
	all := maxWork
	for system, nodes := range map[string]int{"mesh:4x5": 1, "hypercube:4": 1, "dgx-1": 2, "l40s-8": 3} {
		top := resolve(t, system, nodes)
		net, err := newNetwork(top, int64(len(top.Ranks)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"broadcast", "reduce"} {
			c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
			if err != nil {
				t.Fatal(err)
			}
			for most := int64(1); most < 1<<20; most += 1 + most/8 {
				maxWork = most
				b, err := Of(t.Context(), top, c)
				maxWork = all
				if err != nil {
					t.Fatal(err)
				}
				inside := make([]bool, len(top.Ranks))
				for _, r := range b.Cut {
					inside[r] = true
				}
				if out := big.NewRat(newFlow(net).capacityOut(inside)*net.unit, 1); out.Cmp(b.AlgbwBps) != 0 {
					t.Fatalf("%s on %s with %d arcs to look at: %s, and %v of it carry %v", name, system, most, b.Proof, b.Cut, out)
				}
			}
		}
	}
}

// TestVeryLargeSystems bounds systems of tens of thousands of ranks, whose symmetries are
// found at once, and compares with closed forms.
func TestVeryLargeSystems(t *testing.T) {
	for _, row := range []struct{ system, collective, exact string }{
		{"hub:65536", "allgather", "655360/13107"},
		{"ring:20000", "broadcast", "100"},
		{"torus:16x16x16", "allgather", "81920/273"},
	} {
		top := resolve(t, row.system, 1)
		c, err := collective.New(collective.Spec{Name: row.collective, Ranks: len(top.Ranks), Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Of(t.Context(), top, c)
		if err != nil {
			t.Fatal(err)
		}
		if b.Exact != row.exact {
			t.Errorf("%s on %s: %s GB/s, want %s", row.collective, row.system, b.Exact, row.exact)
		}
	}
}
