package rings

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

func TestBlockRings(t *testing.T) {
	for _, c := range []struct {
		nodes, count int
		want         [][]int
		width        units.Bandwidth
	}{
		{2, 1, [][]int{{0, 2, 4, 6, 1, 3, 5, 7}}, 24e9},
		{2, 2, [][]int{{0, 2, 4, 6, 1, 3, 5, 7}, {2, 0, 6, 4, 3, 1, 7, 5}}, 24e9},
		{3, 1, [][]int{{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}}, 24e9},
		{2, 3, nil, 0}, // three rings through blocks of two: two of them would be one
		{1, 1, nil, 0}, // there is nowhere to leave for
	} {
		topology := topotest.Pairs(t, c.nodes)
		got := BlocksOf(topology).Rings(c.count)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%d rings on %d nodes: %v, want %v", c.count, c.nodes, got, c.want)
		}
		if w := Width(topology, got); w != c.width {
			t.Errorf("%d rings on %d nodes: %s wide, want %s", c.count, c.nodes, w, c.width)
		}
	}
}

func TestEntersOnce(t *testing.T) {
	topology := topotest.Pairs(t, 2)
	for _, c := range []struct {
		ring []int
		want bool
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, true},
		{[]int{1, 2, 3, 5, 6, 7, 4, 0}, true}, // begun within a node
		{[]int{0, 2, 4, 6, 1, 3, 5, 7}, false},
	} {
		if got := EntersOnce(topology, c.ring); got != c.want {
			t.Errorf("%v: %t", c.ring, got)
		}
	}
}

// On any system the results are different rings, and none of two blocks or more enters
// its nodes only once.
func TestBlockRingsAreRings(t *testing.T) {
	found := 0
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(topologies.Names()).Draw(r, "system")
		topology := topotest.Resolve(t, name, rapid.IntRange(2, 3).Draw(r, "nodes"))
		rings := BlocksOf(topology).Rings(rapid.IntRange(1, 4).Draw(r, "rings"))
		if rings == nil {
			return
		}
		found++
		if err := Check(topology, rings); err != nil {
			r.Fatal(err)
		}
		for k, ring := range rings {
			if EntersOnce(topology, ring) {
				r.Fatalf("%v enters its nodes once", ring)
			}
			if slices.ContainsFunc(rings[:k], func(before []int) bool { return slices.Equal(before, ring) }) {
				r.Fatalf("%v twice", ring)
			}
		}
	})
	if found == 0 {
		t.Error("no system drawn has any")
	}
}
