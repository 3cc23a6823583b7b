package bounds

import (
	"context"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// TestWanted: vector forms with equal counts have the bounds of the plain forms.
func TestWanted(t *testing.T) {
	for _, name := range collective.VectorForms() {
		for _, on := range []struct {
			system string
			nodes  int
		}{{"dgx-a100", 1}, {"dgx-a100", 2}, {"mesh:3x3", 0}, {"ring:6", 0}} {
			top := resolve(t, on.system, on.nodes)
			n := len(top.Ranks)
			counts := make([]int, collective.CountsOf(name, n))
			for i := range counts {
				counts[i] = 3
			}
			of := func(s collective.Spec) Bound {
				s.Ranks, s.Chunks = n, 1
				c, err := collective.New(s)
				if err != nil {
					t.Fatal(err)
				}
				b, err := Of(context.Background(), top, c)
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			plain, counted := of(collective.Spec{Name: name}), of(collective.Spec{Name: name, Counts: counts})
			if plain.LatencySteps != counted.LatencySteps || plain.LatencyUS != counted.LatencyUS {
				t.Errorf("%s on %s: latency of %d steps, %v us; of the plain form %d and %v", name, on.system, counted.LatencySteps, counted.LatencyUS, plain.LatencySteps, plain.LatencyUS)
			}
			if counted.AlgbwBps.Cmp(plain.AlgbwBps) != 0 {
				t.Errorf("%s on %s: %v B/s, without counts %v", name, on.system, counted.AlgbwBps, plain.AlgbwBps)
			}
			if whole := of(collective.Spec{Name: "alltoall"}).AlgbwBps; name == "alltoallv" && plain.AlgbwBps.Cmp(new(big.Rat).Mul(whole, big.NewRat(int64(n), 1))) != 0 {
				t.Errorf("alltoallv on %s: %v B/s of all, alltoall %v of a rank's", on.system, plain.AlgbwBps, whole)
			}
		}
	}
}

// TestWantedCountsOnce: what a rank already has is not counted, and what several ranks
// want leaves its source once.
func TestWantedCountsOnce(t *testing.T) {
	top := resolve(t, "ring:4@10GB/s", 0)
	in := func(rank int) collective.Want { return collective.Want{Kind: collective.WantInput, Rank: rank} }
	table := &collective.Table{In: []int{1, 1, 1, 1}, Out: []int{1, 1, 1, 2}, Want: [][]collective.Want{{in(0)}, {in(0)}, {in(0)}, {in(0), in(0)}}}
	c, err := collective.New(collective.Spec{Name: "same", Ranks: 4, Chunks: 3, Custom: table})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Of(context.Background(), top, c)
	if err != nil {
		t.Fatal(err)
	}
	// The size is 2 units; one comes to a rank, over two links of 10 GB/s.
	if b.Exact != "40" || b.LatencySteps != 2 {
		t.Errorf("%s GB/s in %d steps, want 40 in 2: %s", b.Exact, b.LatencySteps, b.Proof)
	}
	table.Want = [][]collective.Want{{in(0)}, {in(1)}, {in(2)}, {in(3), {}}}
	if b, err = Of(context.Background(), top, c); err != nil || b.AlgbwBps != nil || b.TimeUS(1<<20) != 0 {
		t.Errorf("nothing has to move: %+v, %v", b, err)
	}
}

// withCounts returns the bound of a vector form.
func withCounts(t interface{ Fatal(...any) }, top *topologies.Topology, name string, counts []int) Bound {
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1, Counts: counts})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Of(context.Background(), top, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEveryCutOfCounts enumerates all cuts of small systems and a routing of every pair:
// bounds lie between the two, and equal the narrowest cut's if one source or destination
// has all.
func TestEveryCutOfCounts(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		n := len(top.Ranks)
		counts := make([]int, n)
		table := make([]int, n*n)
		for i := range table {
			table[i] = rapid.IntRange(0, 3).Draw(t, "part")
		}
		for r := range counts {
			counts[r] = rapid.IntRange(0, 3).Draw(t, "count")
		}
		all, parts := total(counts), total(table)
		if all == 0 || parts == 0 {
			return
		}
		least := map[string]*big.Rat{}
		note := func(name string, capacity, part, of int64) {
			if part == 0 {
				return
			}
			if r := big.NewRat(capacity*of, part); least[name] == nil || r.Cmp(least[name]) < 0 {
				least[name] = r
			}
		}
		for set := 1; set < 1<<len(top.Vertices)-1; set++ {
			in := func(r int) bool { return set>>r&1 == 1 }
			var inside, pairs int64
			ranks := 0
			for r := range n {
				if !in(r) {
					continue
				}
				ranks++
				inside += int64(counts[r])
				for b := range n {
					if !in(b) {
						pairs += int64(table[r*n+b])
					}
				}
			}
			if ranks == 0 || ranks == n {
				continue
			}
			capacity := out(top, set)
			note("allgatherv", capacity, inside, all)
			note("alltoallv", capacity, pairs, parts)
			if in(0) {
				note("scatterv", capacity, all-inside, all)
			} else {
				note("gatherv", capacity, inside, all)
			}
		}
		for _, name := range []string{"allgatherv", "gatherv", "scatterv"} {
			if b := withCounts(t, top, name, counts); (b.AlgbwBps == nil) != (least[name] == nil) || b.AlgbwBps != nil && b.AlgbwBps.Cmp(least[name]) != 0 {
				t.Fatalf("%s of %v: %v, but the narrowest cut says %v (%s)", name, counts, b.AlgbwBps, least[name], b.Proof)
			}
		}
		b := withCounts(t, top, "alltoallv", table)
		if (b.AlgbwBps == nil) != (least["alltoallv"] == nil) {
			t.Fatalf("alltoallv of %v: %v, the narrowest cut says %v", table, b.AlgbwBps, least["alltoallv"])
		}
		if b.AlgbwBps == nil {
			return
		}
		if b.AlgbwBps.Cmp(least["alltoallv"]) > 0 {
			t.Fatalf("alltoallv of %v: %v is above its narrowest cut, %v", table, b.AlgbwBps, least["alltoallv"])
		}
		load := make([]int64, len(top.Edges))
		for i, part := range table {
			if a, z := i/n, i%n; a != z && part > 0 {
				for _, e := range hops(t, top, a, z) {
					load[e] += int64(part)
				}
			}
		}
		for e, l := range load {
			if l > 0 {
				note("routed", int64(top.Edges[e].Bandwidth), l, parts)
			}
		}
		if moved++; b.AlgbwBps.Cmp(least["routed"]) < 0 {
			t.Fatalf("alltoallv of %v runs at %v: above its bound %v (%s)", table, least["routed"], b.AlgbwBps, b.Proof)
		}
	})
	if moved < 20 {
		t.Errorf("%d systems: too few to mean much", moved)
	}
}
