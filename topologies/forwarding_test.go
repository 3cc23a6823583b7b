package topologies_test

import (
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestForwarding: where GPUs forward, any two of a node have a path, each of its edges begins
// where the one before ends, and no path of fewer links exists; others stay as they are.
func TestForwarding(t *testing.T) {
	for system, longest := range map[string]int{"frontier": 2, "mi250": 5, "dgx-1": 2, "dgx-a100": 0} {
		of, err := topologies.Resolve(system, topologies.Options{Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		all := of.Forwarding()
		if longest == 0 {
			if all != of {
				t.Errorf("%s: every two GPUs are linked, and yet it is another system", system)
			}
			continue
		}
		hops := linksBetween(of)
		most := 0
		for a := range of.Ranks {
			for b := range of.Ranks {
				path, ok := all.Path(a, b)
				if ok != (a != b) || all.Linked(a, b) != ok {
					t.Fatalf("%s: from rank %d to %d: path %t, linked %t", system, a, b, ok, all.Linked(a, b))
				}
				if direct, linked := of.Path(a, b); linked || !ok {
					if len(direct.Edges) != len(path.Edges) || direct.Latency != path.Latency {
						t.Errorf("%s: from rank %d to %d: another path than the link", system, a, b)
					}
					continue
				}
				most = max(most, len(path.Edges))
				at := a
				for _, e := range path.Edges {
					if of.Edges[e].From != at {
						t.Errorf("%s: from rank %d to %d: edge %d does not begin at %d", system, a, b, e, at)
					}
					at = of.Edges[e].To
				}
				if at != b || path.Net || len(path.Edges) != hops[a][b] {
					t.Errorf("%s: from rank %d to %d: %d edges end at %d, want %d", system, a, b, len(path.Edges), at, hops[a][b])
				}
			}
		}
		if most != longest {
			t.Errorf("%s: the longest path has %d links, want %d", system, most, longest)
		}
	}
	ring, err := topologies.Resolve("ring:8", topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all := ring.Forwarding(); all.Linked(0, 3) || !all.Linked(0, 2) {
		t.Error("NVLinks of a ring: want one GPU in between, and no more")
	}
}

// linksBetween counts the fewest direct links between ranks of a node (Floyd and Warshall).
func linksBetween(t *topologies.Topology) [][]int {
	hops := make([][]int, len(t.Ranks))
	for a := range hops {
		hops[a] = make([]int, len(t.Ranks))
		for b := range hops[a] {
			hops[a][b] = len(t.Ranks)
			if t.Ranks[a].Node == t.Ranks[b].Node && t.Linked(a, b) {
				hops[a][b] = 1
			}
		}
	}
	for k := range hops {
		for a := range hops {
			for b := range hops {
				hops[a][b] = min(hops[a][b], hops[a][k]+hops[k][b])
			}
		}
	}
	return hops
}
