package greedy

import (
	"context"
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestCrossings routes over many nodes where GPUs have network links only to other
// numbers: on TE-CCL's DGX-2 odd ranks send and even ranks receive.
func TestCrossings(t *testing.T) {
	for _, c := range []struct {
		top   *topologies.Topology
		pairs int // of two nodes
	}{
		{resolve(t, "dgx-2-teccl", 9), 8},
		{resolve(t, "dgx-a100", 10), 8},
	} {
		chosen, count := newNodePairs(t.Context(), c.top), 0
		for from := range c.top.Ranks {
			for to := range c.top.Ranks {
				if !chosen.has(from, to) {
					continue
				}
				count++
				if !c.top.Linked(from, to) || c.top.Ranks[from].Node == c.top.Ranks[to].Node {
					t.Errorf("%s: %d to %d is chosen", c.top.Name, from, to)
				}
			}
		}
		if want := c.pairs * c.top.Nodes * (c.top.Nodes - 1); count != want {
			t.Errorf("%s: %d pairs, want %d", c.top.Name, count, want)
		}
		for _, coll := range []string{"allgather", "reducescatter"} {
			s, err := Route(context.Background(), c.top, Options{Collective: coll, Bytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(c.top); err != nil {
				t.Errorf("%s of %s: %v", coll, c.top.Name, err)
			}
		}
	}
}
