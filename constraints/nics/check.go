package nics

import (
	"fmt"

	"github.com/colltune/colltune/topologies"
)

// Check returns an error unless a choice of NICs works between every two nodes: every
// GPU g is linked to the GPU out[g], that to GPU in[g] of the other node, and that to GPU
// g there. It uses only the choice and the topology.
func Check(t *topologies.Topology, out, in []int) error {
	for node := range t.Nodes {
		ranks := t.NodeRanks(node)
		if len(out) != len(ranks) || len(in) != len(ranks) {
			return fmt.Errorf("NICs of %d and %d GPUs: node %d of %s has %d", len(out), len(in), node, t.Name, len(ranks))
		}
	}
	for g := range out {
		if out[g] < 0 || out[g] >= len(out) || in[g] < 0 || in[g] >= len(in) {
			return fmt.Errorf("gpu %d of a node sends by gpu %d and receives by gpu %d: a node of %s has 0 to %d", g, out[g], in[g], t.Name, len(out)-1)
		}
	}
	for a := range t.Nodes {
		from := t.NodeRanks(a)
		for b := range t.Nodes {
			to := t.NodeRanks(b)
			for g := range out {
				if a == b {
					continue
				}
				way := []int{from[g], from[out[g]], to[in[g]], to[g]}
				for i, r := range way[1:] {
					if way[i] != r && !t.Linked(way[i], r) {
						return fmt.Errorf("what rank %d sends to rank %d goes by rank %d and rank %d: %s has no link from rank %d to rank %d",
							from[g], to[g], from[out[g]], to[in[g]], t.Name, way[i], r)
					}
				}
			}
		}
	}
	return nil
}
