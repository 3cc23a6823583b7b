package topologies

import (
	"cmp"
	"slices"
	"sync"
)

// derived is data about a Topology that is computed on first use.
type derived struct {
	once sync.Once
	adj  *adjacency
}

// adjacency lists, for each vertex, its edges both ways, and each node's ranks.
type adjacency struct {
	out, in   [][]int32 // edge indices by rising index
	nodeFirst []int     // by node: its first rank; and one more entry at the end
	into      [][]int32 // by node: fabric vertices that may lead to its ranks
	routes    routes
	links     links
}

// adjacent builds the index once, and is safe for concurrent use.
func (t *Topology) adjacent() *adjacency {
	t.lazy.once.Do(func() {
		a := &adjacency{
			out: make([][]int32, len(t.Vertices)),
			in:  make([][]int32, len(t.Vertices)),
		}
		for i, e := range t.Edges {
			a.out[e.From] = append(a.out[e.From], int32(i))
			a.in[e.To] = append(a.in[e.To], int32(i))
		}
		for r, rank := range t.Ranks {
			for len(a.nodeFirst) <= rank.Node {
				a.nodeFirst = append(a.nodeFirst, r)
			}
		}
		for len(a.nodeFirst) <= t.Nodes {
			a.nodeFirst = append(a.nodeFirst, len(t.Ranks))
		}
		a.into = t.entries()
		a.routes.init(len(t.Ranks), len(t.Vertices))
		a.links.init(len(t.Ranks))
		t.lazy.adj = a
	})
	return t.lazy.adj
}

// entries lists, for each node, the fabric vertices with an edge into it, by
// rising number. If something other than a rank is joined directly to another
// node, messages may come in through a third one: then it lists all fabric
// vertices.
func (t *Topology) entries() [][]int32 {
	var all []int32
	for v, vertex := range t.Vertices {
		if vertex.Kind == Fabric {
			all = append(all, int32(v))
		}
	}
	into := make([][]int32, t.Nodes)
	through := false
	for _, e := range t.Edges {
		from, to := t.Vertices[e.From], t.Vertices[e.To]
		switch {
		case from.Kind == Fabric && to.Node >= 0:
			if has := into[to.Node]; len(has) == 0 || has[len(has)-1] != int32(e.From) {
				into[to.Node] = append(has, int32(e.From)) // edges are sorted by From
			}
		case from.Node >= 0 && to.Node >= 0 && from.Node != to.Node && from.Kind != GPU:
			through = true
		}
	}
	if through {
		for n := range into {
			into[n] = all
		}
	}
	return into
}

// Out lists the edges that leave vertex v, by rising index. Do not change it.
func (t *Topology) Out(v int) []int32 { return t.adjacent().out[v] }

// In lists the edges that enter vertex v, by rising index. Do not change it.
func (t *Topology) In(v int) []int32 { return t.adjacent().in[v] }

// NodeRanks lists the ranks of a node, rising; nil if there is no such node.
func (t *Topology) NodeRanks(node int) []int {
	if node < 0 || node >= t.Nodes {
		return nil
	}
	first := t.adjacent().nodeFirst
	ranks := make([]int, 0, first[node+1]-first[node])
	for r := first[node]; r < first[node+1]; r++ {
		ranks = append(ranks, r)
	}
	return ranks
}

// MinSMs returns the number of streaming multiprocessors of the smallest GPU,
// which is the number of threadblocks that can be resident on every GPU.
func (t *Topology) MinSMs() int {
	if len(t.Ranks) == 0 {
		return 0
	}
	return slices.MinFunc(t.Ranks, func(a, b Rank) int { return cmp.Compare(a.SMs, b.SMs) }).SMs
}

// compareEdges orders Topology.Edges.
func compareEdges(a, b Edge) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
}
