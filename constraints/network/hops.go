package network

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/topologies"
)

// Hop is the path of a message from a rank to a rank that it is linked to. Where data
// are stored at each rank and sent on whole, hops, and not arcs, are what is scheduled.
type Hop struct {
	From, To int32
	Edges    []int32 // of the topology, in the order that a message takes them
	Latency  float64 // microseconds
	Net      bool    // it leaves the node
}

// maxHops limits the memory of a list of hops.
const maxHops = 1 << 22

// Hops returns the hops between all ranks, or only those from one to another for which
// wanted is true if it is not nil, by From and then by To. Backward, they are of the
// topology with every edge reversed: the hop from a to b has the edges of the path from
// b to a. The error is ctx's, or that there are too many.
func Hops(ctx context.Context, t *topologies.Topology, backward bool, wanted func(from, to int) bool) ([]Hop, error) {
	hops := make([]Hop, 0, len(t.Edges))
	edges := make([]int32, 0, len(t.Edges)) // storage for the edges of all hops
	for a := range t.Ranks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for b := range t.Ranks {
			from, to := a, b
			if backward {
				from, to = b, a
			}
			if wanted != nil && !wanted(from, to) {
				continue
			}
			path, ok := t.Path(from, to)
			if !ok {
				continue
			}
			if len(hops) == maxHops {
				return nil, fmt.Errorf("more than %d pairs of linked ranks", maxHops)
			}
			first := len(edges)
			for _, e := range path.Edges {
				edges = append(edges, int32(e))
			}
			hops = append(hops, Hop{From: int32(a), To: int32(b), Edges: edges[first:len(edges):len(edges)], Latency: float64(path.Latency), Net: path.Net})
		}
	}
	return hops, nil
}
