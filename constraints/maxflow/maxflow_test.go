package maxflow

import (
	"testing"

	"pgregory.net/rapid"
)

// The maximum flow equals the least of all cuts of small random networks, and is a valid
// flow.
func TestFlowIsTheNarrowestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "vertices")
		g := New(n)
		type arc struct {
			from, to int
			capacity int64
		}
		var arcs []arc
		for range rapid.IntRange(0, 20).Draw(t, "arcs") {
			a := arc{rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to"), rapid.Int64Range(0, 9).Draw(t, "capacity")}
			if g.Arc(a.from, a.to, 1) != len(arcs) {
				t.Fatal("arcs are not numbered in order")
			}
			g.SetCapacity(len(arcs), a.capacity)
			arcs = append(arcs, a)
		}
		cut := func(inside func(v int) bool) (sum int64) {
			for _, a := range arcs {
				if inside(a.from) && !inside(a.to) {
					sum += a.capacity
				}
			}
			return sum
		}
		least := int64(1 << 40)
		for set := range 1 << n {
			if set&1 == 1 && set>>(n-1)&1 == 0 {
				least = min(least, cut(func(v int) bool { return set>>v&1 == 1 }))
			}
		}
		for range 2 { // the second run finds what the first did
			got := g.MaxFlow(0, n-1, Unlimited)
			if got != least {
				t.Fatalf("flow %d, narrowest cut %d", got, least)
			}
			if c := cut(g.OnSourceSide); c != least || g.OnSourceSide(n-1) {
				t.Fatalf("the cut told carries %d, want %d", c, least)
			}
		}
		excess := make([]int64, n)
		for i, a := range arcs {
			f := g.Flow(i)
			if f < 0 || f > a.capacity {
				t.Fatalf("arc %d of %d carries %d", i, a.capacity, f)
			}
			excess[a.to] += f
			excess[a.from] -= f
		}
		for v, e := range excess {
			if want := map[int]int64{0: -least, n - 1: least}[v]; e != want {
				t.Fatalf("vertex %d keeps %d, want %d", v, e, want)
			}
		}
		most := rapid.Int64Range(0, 30).Draw(t, "most")
		if got := g.MaxFlow(0, n-1, most); got != min(most, least) {
			t.Fatalf("flow %d of at most %d, there are %d", got, most, least)
		}
		if got := g.Augment(0, n-1, Unlimited); got != least-min(most, least) {
			t.Fatalf("%d more, want %d", got, least-min(most, least))
		}
	})
}
