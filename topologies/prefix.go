package topologies

import (
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// Alike reports whether all nodes are alike: the same GPUs and links, joined to the same
// switches of the fabric in the same way, and to nothing else. Renumbering the nodes of
// such a system changes nothing.
func (t *Topology) Alike() bool {
	// Edges with vertices numbered within their node; those of the fabric by -1-number.
	type link struct {
		from, to, count int
		kind            LinkKind
		bandwidth       units.Bandwidth
		counted         units.Bandwidth
		latency         units.Duration
		message         units.Duration
	}
	numbers, of := make([]int, len(t.Vertices)), make([]int, t.Nodes)
	kinds := make([][]VertexKind, t.Nodes)
	for v, vertex := range t.Vertices {
		if vertex.Node < 0 {
			numbers[v] = -1 - v
			continue
		}
		numbers[v] = of[vertex.Node]
		of[vertex.Node]++
		kinds[vertex.Node] = append(kinds[vertex.Node], vertex.Kind)
	}
	links := make([][]link, t.Nodes)
	for _, e := range t.Edges {
		node, to := t.Vertices[e.From].Node, t.Vertices[e.To].Node
		if node < 0 {
			node = to
		}
		if node < 0 || to >= 0 && to != node {
			return false
		}
		links[node] = append(links[node], link{numbers[e.From], numbers[e.To], e.Count, e.Kind, e.Bandwidth, e.Counted, e.Latency, e.Message})
	}
	first := t.NodeRanks(0)
	for n := range t.Nodes {
		ranks := t.NodeRanks(n)
		if len(ranks) != len(first) || !slices.Equal(kinds[n], kinds[0]) || !slices.Equal(links[n], links[0]) {
			return false
		}
		for i, r := range ranks {
			a, b := t.Ranks[r], t.Ranks[first[i]]
			if a.Node = b.Node; a != b {
				return false
			}
		}
	}
	return true
}
