package rings_test

import (
	"testing"

	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestSharing: rings share links only where that carries more than rings that share none, and then
// take each arc as often.
func TestSharing(t *testing.T) {
	for _, c := range []struct {
		topology string
		count    int
		found    bool
	}{
		{"fullmesh:4", 6, true}, // all six directed cycles; two share no link
		{"fullmesh:4", 3, false},
		{"fullmesh:4", 4, false},
		{"fullmesh:4", 8, false}, // a GPU has links for six
		{"fullmesh:5", 8, false}, // four share no link
		{"dgx-1", 8, false},
		{"hub:4", 6, false},
	} {
		top := topotest.Resolve(t, c.topology, 1)
		orders := rings.Sharing(t.Context(), top, c.count)
		if found := orders != nil; found != c.found {
			t.Errorf("%s: %d rings: %v", c.topology, c.count, orders)
		}
		taken := make([]int, len(top.Edges))
		for _, order := range orders {
			if err := rings.CheckOrder(top, order); err != nil {
				t.Error(err)
			}
			for i, r := range order {
				path, _ := top.Path(r, order[(i+1)%len(order)])
				taken[path.Edges[0]]++
			}
		}
		for e, n := range taken {
			if orders != nil && n != 2 {
				t.Errorf("%s: %d rings take edge %d %d times", c.topology, c.count, e, n)
			}
		}
	}
}
