package bounds

import (
	"container/heap"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// latencyPairs returns the pairs of ranks whose latency bounds the collective's: source
// ranks, one of each orbit, and the ranks that the data of each must reach. If reversed,
// data flow from those ranks to the source.
func (p *problem) latencyPairs() (sources []int, to func(n, rank int, yield func(to int, parts int64)), turned bool) {
	sources, to = p.representatives(), allPairs.to
	switch collective.Plain(p.c.Name) {
	case "alltonext":
		to = nextRank.to
	case "sendrecv":
		sources, to = append(sources, p.n-1), ringNext.to
	case "broadcast", "scatter":
		sources = []int{p.c.Root}
	case "gather", "reduce":
		sources, turned = []int{p.c.Root}, true
	}
	return sources, to, turned
}

// latency returns the largest number of consecutive sends, and the largest sum of link
// latencies, that any datum needs on its best path.
func (p *problem) latency() (steps int, us float64) {
	sources, to, turned := p.latencyPairs()
	w := newLatencySearch(p, turned)
	var targets []int
	for looked, a := range p.spreadOut(sources) {
		if p.ended() {
			break
		}
		if w.work > maxWork {
			p.skip(looked, len(sources), "ranks' latencies")
			break
		}
		targets = targets[:0]
		to(p.n, a, func(b int, _ int64) { targets = append(targets, b) })
		w.from(a, targets)
		for _, b := range targets {
			steps = max(steps, int(w.hops[b]))
			us = max(us, w.latency[b])
		}
	}
	return steps, us
}

// latencySearch computes distances from one rank after another. It stops when the
// targets are reached, so that neighbours are found fast in a large system.
type latencySearch struct {
	p        *problem
	reversed bool
	hops     []int32   // sends to a rank; of a switch, when it was gone through
	latency  []float64 // the least latency, in µs
	state    []uint8   // whether a rank is asked for, or a vertex's latency is the least
	hopped   []int     // vertices that have hops
	touched  []int     // vertices that have a latency
	q        distanceHeap
	work     int64 // edges examined; those of Dijkstra's algorithm count 8 times
}

const (
	unreached = -1
	target    = 1
	settled   = 2
)

func newLatencySearch(p *problem, turned bool) *latencySearch {
	n := len(p.t.Vertices)
	w := &latencySearch{p: p, reversed: turned, hops: make([]int32, n), latency: make([]float64, n), state: make([]uint8, n)}
	for v := range n {
		w.hops[v], w.latency[v] = unreached, unreached
	}
	return w
}

// from fills hops and latency for the targets.
func (w *latencySearch) from(rank int, targets []int) {
	for _, v := range w.hopped {
		w.hops[v] = unreached
	}
	for _, v := range w.touched {
		w.latency[v], w.state[v] = unreached, 0
	}
	w.hopped, w.touched = w.hopped[:0], w.touched[:0]
	w.countHops(rank, targets)
	w.dijkstra(rank, targets)
}

// next returns the edges out of a vertex in the direction of the search, and head the
// vertex that an edge leads to.
func (w *latencySearch) next(v int) []int32 {
	if w.reversed {
		return w.p.t.In(v)
	}
	return w.p.t.Out(v)
}

func (w *latencySearch) head(e int32) int {
	if w.reversed {
		return w.p.t.Edges[e].From
	}
	return w.p.t.Edges[e].To
}

// linked reports whether a may send to b, or b to a if the search is reversed.
func (w *latencySearch) linked(a, b int) bool {
	if w.reversed {
		a, b = b, a
	}
	return w.p.t.Linked(a, b)
}

// countHops computes the fewest sends from one rank to the targets (breadth first).
func (w *latencySearch) countHops(from int, targets []int) {
	p := w.p
	w.setHops(from, 0)
	left := 0 // targets not reached
	for _, b := range targets {
		if b != from {
			w.state[b] |= target
			left++
		}
	}
	defer func() {
		for _, b := range targets {
			w.state[b] = 0
		}
	}()
	frontier := []int{from}
	for depth := int32(1); len(frontier) > 0 && left > 0; depth++ {
		var next []int
		reach := func(b int) {
			if w.hops[b] < 0 {
				w.setHops(b, depth)
				next = append(next, b)
				if w.state[b]&target != 0 {
					left--
				}
			}
		}
		for _, a := range frontier {
			w.inNode(a, a, depth, reach)
		}
		for _, a := range frontier {
			if p.t.Nodes == 1 || left == 0 {
				break
			}
			for b := range p.n {
				if w.hops[b] < 0 && p.t.Ranks[b].Node != p.t.Ranks[a].Node && w.linked(a, b) {
					reach(b)
				}
			}
		}
		frontier = next
	}
}

func (w *latencySearch) setHops(v int, depth int32) {
	w.hops[v] = depth
	w.hopped = append(w.hopped, v)
}

// inNode calls reach for the ranks of a's node that a is linked to through vertex v. A
// switch is visited only once, because then everything behind it has been reached.
func (w *latencySearch) inNode(a, v int, depth int32, reach func(int)) {
	p := w.p
	w.work += int64(len(w.next(v)))
	for _, e := range w.next(v) {
		to := w.head(e)
		switch vertex := p.t.Vertices[to]; {
		case vertex.Node != p.t.Ranks[a].Node:
		case vertex.Kind == topologies.GPU:
			reach(to)
		case vertex.Kind == topologies.Switch && w.hops[to] < 0:
			w.setHops(to, depth)
			w.inNode(a, to, depth, reach)
		}
	}
}

// dijkstra computes the least sum of link latencies from one rank to the targets, over
// any relays.
func (w *latencySearch) dijkstra(from int, targets []int) {
	left := 0
	for _, b := range targets {
		if b != from {
			w.state[b] |= target
			left++
		}
	}
	w.touched = append(w.touched, targets...)
	w.setLatency(from, 0)
	w.q = append(w.q[:0], vertexDistance{vertex: from})
	for len(w.q) > 0 && left > 0 {
		at := heap.Pop(&w.q).(vertexDistance)
		if w.state[at.vertex]&settled != 0 {
			continue
		}
		if w.state[at.vertex]&target != 0 {
			left--
		}
		w.state[at.vertex] |= settled
		w.work += 8 * int64(len(w.next(at.vertex)))
		for _, e := range w.next(at.vertex) {
			to := w.head(e)
			if d := at.dist + float64(w.p.t.Edges[e].Latency); w.latency[to] == unreached || d < w.latency[to] {
				w.setLatency(to, d)
				heap.Push(&w.q, vertexDistance{vertex: to, dist: d})
			}
		}
	}
}

func (w *latencySearch) setLatency(v int, us float64) {
	w.latency[v] = us
	w.touched = append(w.touched, v)
}

type vertexDistance struct {
	vertex int
	dist   float64
}

type distanceHeap []vertexDistance

func (q distanceHeap) Len() int           { return len(q) }
func (q distanceHeap) Less(i, j int) bool { return q[i].dist < q[j].dist }
func (q distanceHeap) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *distanceHeap) Push(x any)        { *q = append(*q, x.(vertexDistance)) }
func (q *distanceHeap) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
