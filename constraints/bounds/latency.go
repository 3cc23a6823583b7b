package bounds

import (
	"container/heap"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// routes is who needs whose data, as far as latency goes: ranks whose data
// matter, up to likeness, and where the data of each must get.
func (p *problem) routes() (sources []int, to func(n, rank int, yield func(to int, parts int64))) {
	sources, to = p.representatives(), everyPair.to
	switch collective.Plain(p.c.Name) {
	case "alltonext":
		to = nextPair.to
	case "sendrecv":
		sources, to = append(sources, p.n-1), ringPair.to
	case "broadcast", "scatter":
		sources = []int{p.c.Root}
	case "gather", "reduce":
		sources = p.beside(p.c.Root)
		to = func(_, rank int, yield func(int, int64)) {
			if rank != p.c.Root {
				yield(p.c.Root, 1)
			}
		}
	}
	return sources, to
}

// latency is the most sends in a row, and the most link latency, that some
// datum needs on its best way.
func (p *problem) latency() (steps int, us float64) {
	sources, to := p.routes()
	for _, a := range sources {
		p.look()
		hops, far := p.sends(a), p.distances(a)
		to(p.n, a, func(b int, _ int64) {
			steps = max(steps, int(hops[b]))
			us = max(us, far[b])
		})
	}
	return steps, us
}

// sends counts, from one rank, the fewest sends from rank to linked rank.
func (p *problem) sends(from int) []int32 {
	hops := make([]int32, len(p.t.Vertices))
	for v := range hops {
		hops[v] = -1
	}
	hops[from] = 0
	frontier := []int{from}
	left := p.n - 1 // ranks not reached
	for depth := int32(1); len(frontier) > 0 && left > 0; depth++ {
		var next []int
		reach := func(b int) {
			if hops[b] < 0 {
				hops[b] = depth
				next = append(next, b)
				left--
			}
		}
		for _, a := range frontier {
			p.inNode(a, a, depth, hops, reach)
		}
		for _, a := range frontier {
			if p.t.Nodes == 1 || left == 0 {
				break
			}
			for b := range p.n {
				if hops[b] < 0 && p.t.Ranks[b].Node != p.t.Ranks[a].Node && p.t.Linked(a, b) {
					reach(b)
				}
			}
		}
		frontier = next
	}
	return hops
}

// inNode calls reach for the ranks of a's node that a is linked to, over
// vertex v. A switch is gone through once: what it leads to has been reached.
func (p *problem) inNode(a, v int, depth int32, hops []int32, reach func(int)) {
	for _, e := range p.t.Out(v) {
		to := p.t.Edges[e].To
		switch vertex := p.t.Vertices[to]; {
		case vertex.Node != p.t.Ranks[a].Node:
		case vertex.Kind == topologies.GPU:
			reach(to)
		case vertex.Kind == topologies.Switch && hops[to] < 0:
			hops[to] = depth
			p.inNode(a, to, depth, hops, reach)
		}
	}
}

// distances is the least link latency from one rank to every other, whoever
// relays, in microseconds: Dijkstra's algorithm.
func (p *problem) distances(from int) []float64 {
	const unreached = -1
	far := make([]float64, len(p.t.Vertices))
	for v := range far {
		far[v] = unreached
	}
	far[from] = 0
	done := make([]bool, len(far))
	q := nearest{{vertex: from}}
	for len(q) > 0 {
		at := heap.Pop(&q).(reached)
		if done[at.vertex] {
			continue
		}
		done[at.vertex] = true
		for _, e := range p.t.Out(at.vertex) {
			edge := p.t.Edges[e]
			if d := at.us + float64(edge.Latency); far[edge.To] == unreached || d < far[edge.To] {
				far[edge.To] = d
				heap.Push(&q, reached{vertex: edge.To, us: d})
			}
		}
	}
	return far
}

type reached struct {
	vertex int
	us     float64
}

type nearest []reached

func (q nearest) Len() int           { return len(q) }
func (q nearest) Less(i, j int) bool { return q[i].us < q[j].us }
func (q nearest) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *nearest) Push(x any)        { *q = append(*q, x.(reached)) }
func (q *nearest) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
