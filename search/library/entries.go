package library

import (
	"slices"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// entriesOf returns, for each GPU of a node, the GPU by which the library's trees enter it and leave:
// the first of those that are nearest to a NIC (ncclTopoGetLocalGpu), of which GPUs near to none have
// any. It returns nil where every GPU is one, or nodes are not alike.
func entriesOf(t *topologies.Topology) []int {
	if t.Nodes < 2 || !t.Alike() {
		return nil
	}
	gpus := len(t.NodeRanks(0))
	by := slices.Repeat([]int{-1}, gpus)
	first := -1
	for v, vertex := range t.Vertices {
		if vertex.Kind != topologies.NIC || vertex.Node != 0 {
			continue
		}
		near := nccl.NearNIC(t, v)
		for _, g := range near {
			if by[g] < 0 {
				by[g] = near[0]
			}
		}
		if first < 0 && len(near) > 0 {
			first = near[0]
		}
	}
	own := true
	for g := range by {
		if by[g] < 0 {
			by[g] = first
		}
		own = own && by[g] == g
	}
	if own || first < 0 || !slices.ContainsFunc(t.Edges, func(e topologies.Edge) bool { return t.Vertices[e.From].Kind == topologies.NIC && e.To == first }) {
		return nil
	}
	return by
}
