package rings

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

// Meshes, tori and hypercubes have as many rings as their links hold, by known
// theorems (Kotzig; Aubert and Schneider; Alspach, Bermond and Sotteau): exchange
// finds them, no solver being asked.
func TestRingsByExchange(t *testing.T) {
	for _, c := range []struct {
		topology string
		counts   []int
	}{
		{"hypercube:5", []int{1, 2, 3, 4}}, {"hypercube:6", []int{1, 5, 6}}, {"hypercube:7", []int{1, 2, 6}}, {"hypercube:8", []int{4, 7, 8}},
		{"torus:5x5", []int{1, 2, 3, 4}}, {"torus:5x7", []int{2, 4}}, {"torus:8x8", []int{1, 2, 3, 4}}, {"torus:3x3x3", []int{5, 6}}, {"torus:5x5x5", []int{6}},
		{"mesh:8x8", []int{1, 2}}, {"mesh:5x5x4", []int{1, 2, 3}}, {"mesh:16x16", []int{1, 2}}, {"ring:64", []int{2}},
	} {
		topo := resolve(t, c.topology, 1)
		for _, count := range c.counts {
			a, err := Find(context.Background(), nil, topo, Options{Count: count, NoSolver: true})
			if err != nil || len(a.Orders) != count || a.By != "exchange" {
				t.Errorf("%s: %d of %d rings by %s, %v", c.topology, len(a.Orders), count, a.By, err)
				continue
			}
			if err := Check(topo, a.Orders); err != nil {
				t.Errorf("%s: %d rings: %v", c.topology, count, err)
			}
			again, _ := Find(context.Background(), nil, topo, Options{Count: count, NoSolver: true})
			if !reflect.DeepEqual(a.Orders, again.Orders) {
				t.Errorf("%s: %d rings are others the second time", c.topology, count)
			}
		}
	}
}

// A case that exchange cannot settle is reported as open, not as impossible: five rings
// of a hypercube of five dimensions use every link both ways.
func TestExchangeProvesNothing(t *testing.T) {
	var late *TimeoutError
	if _, err := Find(context.Background(), nil, resolve(t, "hypercube:5", 1), Options{Count: 5, NoSolver: true}); !errors.As(err, &late) {
		t.Errorf("got %v", err)
	}
}

// After any exchange, every rank is left and entered once, cycles are numbered and
// counted, no link is over its capacity, and no link is lost.
func TestExchangeKeepsAccounts(t *testing.T) {
	systems := []*topologies.Topology{}
	for _, name := range []string{"torus:5x4", "hypercube:5", "mesh:6x4", "torus:3x3x3", "ring:20", "dgx-1"} {
		systems = append(systems, resolve(t, name, 1))
	}
	rapid.Check(t, func(t *rapid.T) {
		topo := rapid.SampledFrom(systems).Draw(t, "system")
		count := rapid.IntRange(1, 4).Draw(t, "rings")
		p, err := newRingProblem(context.Background(), topo, count)
		if err != nil {
			t.Fatal(err)
		}
		x := p.exchange(1)
		whole := slices.Clone(x.room)
		x.pairs = rapid.Bool().Draw(t, "pairs")
		if !x.start(count) {
			t.Skip("no such steps")
		}
		for range rapid.IntRange(0, 200).Draw(t, "exchanges") {
			f := x.rings[rapid.IntRange(0, len(x.rings)-1).Draw(t, "ring")]
			a := int32(rapid.IntRange(0, x.n-1).Draw(t, "a"))
			d := rapid.SampledFrom(x.out[a]).Draw(t, "d")
			c := f.prev[d]
			if x.pairs && rapid.Bool().Draw(t, "other way") {
				c = f.next[d]
			}
			x.exchangeAt(f, a, c, d, func(int) bool { return true })
		}
		left := slices.Clone(whole)
		for _, r := range x.rings {
			named := map[int32]int32{}
			for i := range int32(x.n) {
				next := r.next[i]
				if r.prev[next] != i {
					t.Fatalf("%d leads to %d, which %d leads to", i, next, r.prev[next])
				}
				if r.loop[i] != r.loop[next] {
					t.Fatalf("%d and %d are in one loop of two names", i, next)
				}
				left[int(i)*x.n+int(next)]--
				if x.pairs {
					left[int(next)*x.n+int(i)]--
				}
				if _, known := named[r.loop[i]]; !known {
					named[r.loop[i]] = i
					ranks := 0
					for j := i; ranks == 0 || j != i; j = r.next[j] {
						ranks++
					}
					all := 0
					for j := range r.loop {
						if r.loop[j] == r.loop[i] {
							all++
						}
					}
					if all != ranks {
						t.Fatalf("%d ranks have the name of a loop of %d", all, ranks)
					}
				}
			}
			if r.count != len(named) {
				t.Fatalf("%d loops are counted, %d are there", r.count, len(named))
			}
		}
		if !slices.Equal(left, x.room) || slices.Min(left) < 0 {
			t.Fatal("room is lost or found")
		}
	})
}
