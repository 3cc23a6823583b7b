package bounds

import (
	"container/heap"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// routes is who needs whose data, as far as latency goes: ranks whose data
// matter, up to likeness, and where the data of each must get; turned, where the
// data come from there instead.
func (p *problem) routes() (sources []int, to func(n, rank int, yield func(to int, parts int64)), turned bool) {
	sources, to = p.representatives(), everyPair.to
	switch collective.Plain(p.c.Name) {
	case "alltonext":
		to = nextPair.to
	case "sendrecv":
		sources, to = append(sources, p.n-1), ringPair.to
	case "broadcast", "scatter":
		sources = []int{p.c.Root}
	case "gather", "reduce":
		sources, turned = []int{p.c.Root}, true
	}
	return sources, to, turned
}

// latency is the largest number of consecutive sends, and the largest link
// latency, that any datum needs on its best path.
func (p *problem) latency() (steps int, us float64) {
	sources, to, turned := p.routes()
	w := newWalk(p, turned)
	var targets []int
	for looked, a := range p.spaced(sources) {
		p.look()
		if w.work > mostWork {
			p.unlooked(looked, len(sources), "ranks' latencies")
			break
		}
		targets = targets[:0]
		to(p.n, a, func(b int, _ int64) { targets = append(targets, b) })
		w.from(a, targets)
		for _, b := range targets {
			steps = max(steps, int(w.hops[b]))
			us = max(us, w.far[b])
		}
	}
	return steps, us
}

// walk goes out from one rank after the other, no farther than to those that are asked
// for: a neighbour is found at once, however large the system.
type walk struct {
	p      *problem
	turned bool
	hops   []int32   // sends to a rank; of a switch, when it was gone through
	far    []float64 // the least latency, in µs
	state  []uint8   // whether a rank is asked for, or a vertex's latency is the least
	near   []int     // vertices that have hops
	seen   []int     // vertices that have a latency
	q      nearest
	work   int64 // edges looked at, so much for one in a queue
}

const (
	unreached = -1
	wanted    = 1
	settledAt = 2
)

func newWalk(p *problem, turned bool) *walk {
	n := len(p.t.Vertices)
	w := &walk{p: p, turned: turned, hops: make([]int32, n), far: make([]float64, n), state: make([]uint8, n)}
	for v := range n {
		w.hops[v], w.far[v] = unreached, unreached
	}
	return w
}

// from fills hops and far for the ranks asked for.
func (w *walk) from(rank int, targets []int) {
	for _, v := range w.near {
		w.hops[v] = unreached
	}
	for _, v := range w.seen {
		w.far[v], w.state[v] = unreached, 0
	}
	w.near, w.seen = w.near[:0], w.seen[:0]
	w.sends(rank, targets)
	w.distances(rank, targets)
}

// next is the edges out of a vertex, and head where one of them leads.
func (w *walk) next(v int) []int32 {
	if w.turned {
		return w.p.t.In(v)
	}
	return w.p.t.Out(v)
}

func (w *walk) head(e int32) int {
	if w.turned {
		return w.p.t.Edges[e].From
	}
	return w.p.t.Edges[e].To
}

// linked reports whether a may send to b, or b to a where the walk is turned.
func (w *walk) linked(a, b int) bool {
	if w.turned {
		a, b = b, a
	}
	return w.p.t.Linked(a, b)
}

// sends is the fewest sends from one rank to every other.
func (w *walk) sends(from int, targets []int) {
	p := w.p
	w.hop(from, 0)
	left := 0 // targets not reached
	for _, b := range targets {
		if b != from {
			w.state[b] |= wanted
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
				w.hop(b, depth)
				next = append(next, b)
				if w.state[b]&wanted != 0 {
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

func (w *walk) hop(v int, depth int32) {
	w.hops[v] = depth
	w.near = append(w.near, v)
}

// inNode calls reach for the ranks of a's node that a is linked to through vertex
// v. A switch is visited only once, because afterwards everything behind it has
// been reached.
func (w *walk) inNode(a, v int, depth int32, reach func(int)) {
	p := w.p
	w.work += int64(len(w.next(v)))
	for _, e := range w.next(v) {
		to := w.head(e)
		switch vertex := p.t.Vertices[to]; {
		case vertex.Node != p.t.Ranks[a].Node:
		case vertex.Kind == topologies.GPU:
			reach(to)
		case vertex.Kind == topologies.Switch && w.hops[to] < 0:
			w.hop(to, depth)
			w.inNode(a, to, depth, reach)
		}
	}
}

// distances is the least link latency from one rank to others, whoever relays:
// Dijkstra's algorithm.
func (w *walk) distances(from int, targets []int) {
	left := 0
	for _, b := range targets {
		if b != from {
			w.state[b] |= wanted
			left++
		}
	}
	w.seen = append(w.seen, targets...)
	w.reach(from, 0)
	w.q = append(w.q[:0], reached{vertex: from})
	for len(w.q) > 0 && left > 0 {
		at := heap.Pop(&w.q).(reached)
		if w.state[at.vertex]&settledAt != 0 {
			continue
		}
		if w.state[at.vertex]&wanted != 0 {
			left--
		}
		w.state[at.vertex] |= settledAt
		w.work += 8 * int64(len(w.next(at.vertex)))
		for _, e := range w.next(at.vertex) {
			to := w.head(e)
			if d := at.us + float64(w.p.t.Edges[e].Latency); w.far[to] == unreached || d < w.far[to] {
				w.reach(to, d)
				heap.Push(&w.q, reached{vertex: to, us: d})
			}
		}
	}
}

func (w *walk) reach(v int, us float64) {
	w.far[v] = us
	w.seen = append(w.seen, v)
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
