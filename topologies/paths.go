package topologies

import (
	"container/heap"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
)

// routes caches shortest-path trees from vertices that are not ranks, computed
// on first use. Paths between ranks are composed of them, so the cache does not
// grow with the square of the ranks:
//
//	rank a ─▶ switch ═ inside ═▶ rank b                                 same node
//	rank a ─▶ nic ═ outside ═▶ leaf ═ core ═▶ leaf ═ outside ═▶ rank b
type routes struct {
	ranks int
	trees [3][]atomic.Pointer[tree] // by scope, and by vertex without the ranks
}

// scope is the set of vertices that a tree covers.
type scope uint8

const (
	inside  scope = iota // the switches of a node
	outside              // switches and NICs; it ends at fabric vertices
	core                 // fabric vertices
)

func (r *routes) init(ranks, vertices int) {
	r.ranks = ranks
	for s := range r.trees {
		r.trees[s] = make([]atomic.Pointer[tree], vertices-ranks)
	}
}

// tree is the shortest paths from one vertex to all that it reaches, each with
// its distance and last edge.
type tree struct {
	ways    map[int32]way
	fabrics []int32 // the fabric vertices that it reaches, rising
}

// way is the cost by which paths are compared: least latency first, then fewest
// edges.
type way struct {
	latency units.Duration
	hops    int32
	edge    int32 // last edge; -1 at the root
}

func (w way) less(o way) bool {
	if w.latency != o.latency {
		return w.latency < o.latency
	}
	return w.hops < o.hops
}

func (w way) then(o way) way {
	return way{latency: w.latency + o.latency, hops: w.hops + o.hops, edge: o.edge}
}

// route is a path between two ranks in parts: the first edge, the tree into
// which it leads and, if it crosses the fabric, the vertices at which it enters
// and leaves it.
type route struct {
	way
	first       int32
	enter, exit int32 // -1 for none
	net         bool
}

// Path returns the route of messages from rank a to rank b: that of least
// latency, then of fewest edges, then the first in the file. Its inner vertices
// are not ranks, unless GPUs forward and there is no other (Forwarding). Between ranks of
// one node it uses neither NICs nor the fabric. Between nodes it enters and leaves the
// fabric once. ok is false if there is none, or if a and b are equal or out of range.
func (t *Topology) Path(a, b int) (p Path, ok bool) {
	r, ok := t.route(a, b)
	if !ok {
		p, ok = t.forwarded[[2]int{a, b}]
		return p, ok
	}
	p = Path{Edges: make([]int, 0, r.hops), Latency: r.latency, Net: r.net}
	p.Edges = append(p.Edges, int(r.first))
	at, way := int32(t.Edges[r.first].To), inside
	if r.net {
		way = outside
	}
	if r.enter >= 0 {
		p.Edges = t.follow(p.Edges, at, r.enter, way)
		p.Edges = t.follow(p.Edges, r.enter, r.exit, core)
		at = r.exit
	}
	p.Edges = t.follow(p.Edges, at, int32(b), way)
	return p, true
}

// Linked reports whether rank a can send to rank b, that is whether Path finds a route. It
// is false if a and b are equal or out of range.
func (t *Topology) Linked(a, b int) bool {
	_, ok := t.route(a, b)
	if !ok {
		_, ok = t.forwarded[[2]int{a, b}]
	}
	return ok
}

func (t *Topology) route(a, b int) (best route, ok bool) {
	if a == b || a < 0 || b < 0 || a >= len(t.Ranks) || b >= len(t.Ranks) {
		return route{}, false
	}
	adj := t.adjacent()
	net := t.Ranks[a].Node != t.Ranks[b].Node
	way1 := inside
	if net {
		way1 = outside
	}
	consider := func(first, enter, exit int32, w way) {
		if !ok || w.less(best.way) {
			best, ok = route{way: w, first: first, enter: enter, exit: exit, net: net}, true
		}
	}
	out := adj.out[a]
	direct := sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= b })
	for ; direct < len(out) && t.Edges[out[direct]].To == b; direct++ {
		consider(out[direct], -1, -1, way{latency: t.Edges[out[direct]].Latency, hops: 1})
	}
	// Edges are sorted by their far ends, of which ranks come first.
	inner := sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= len(t.Ranks) })
	for _, e := range out[inner:] {
		to := int32(t.Edges[e].To)
		v := t.Vertices[to]
		if !net && (v.Kind != Switch || v.Node != t.Ranks[a].Node) {
			continue
		}
		step := way{latency: t.Edges[e].Latency, hops: 1}
		tr := t.tree(to, way1)
		if w, reached := tr.ways[int32(b)]; reached && v.Kind != Fabric {
			consider(e, -1, -1, step.then(w))
		}
		if !net {
			continue
		}
		enters := tr.fabrics
		if v.Kind == Fabric {
			enters = []int32{to}
		}
		for _, enter := range enters {
			far := step.then(tr.ways[enter])
			over := t.tree(enter, core)
			for _, exit := range adj.into[t.Ranks[b].Node] {
				across, joined := over.ways[exit]
				if !joined {
					continue
				}
				if down, reaches := t.tree(exit, outside).ways[int32(b)]; reaches {
					consider(e, enter, exit, far.then(across).then(down))
				}
			}
		}
	}
	return best, ok
}

// follow appends the edges of the way from one vertex to another.
func (t *Topology) follow(edges []int, from, to int32, s scope) []int {
	if from == to {
		return edges
	}
	tr := t.tree(from, s)
	start := len(edges)
	for at := to; at != from; {
		e := tr.ways[at].edge
		edges = append(edges, int(e))
		at = int32(t.Edges[e].From)
	}
	for i, j := start, len(edges)-1; i < j; i, j = i+1, j-1 {
		edges[i], edges[j] = edges[j], edges[i]
	}
	return edges
}

// tree returns the tree of a vertex, and computes it on first use. Concurrent
// callers may both compute it, with equal results.
func (t *Topology) tree(root int32, s scope) *tree {
	r := &t.adjacent().routes
	at := &r.trees[s][int(root)-r.ranks]
	if tr := at.Load(); tr != nil {
		return tr
	}
	tr := t.grow(root, s)
	at.Store(tr)
	return tr
}

// passes reports whether a tree of this scope, whose root is at node, includes v.
func (s scope) passes(v Vertex, node int) bool {
	switch s {
	case inside:
		return v.Node == node && v.Kind != NIC && v.Kind != Fabric
	case core:
		return v.Kind == Fabric
	}
	return true
}

// grow runs Dijkstra's algorithm from a vertex that is not a rank. It goes no
// further than ranks and, outside of nodes, fabric vertices.
func (t *Topology) grow(root int32, s scope) *tree {
	adj := t.adjacent()
	node := t.Vertices[root].Node
	found := &tree{ways: map[int32]way{root: {edge: -1}}}
	done := map[int32]bool{}
	q := queue{{vertex: root, way: found.ways[root]}}
	for len(q) > 0 {
		at := heap.Pop(&q).(reached)
		if done[at.vertex] {
			continue
		}
		done[at.vertex] = true
		kind := t.Vertices[at.vertex].Kind
		if kind == Fabric && at.vertex != root {
			found.fabrics = append(found.fabrics, at.vertex)
		}
		if at.vertex != root && (kind == GPU || kind == Fabric && s == outside) {
			continue
		}
		for _, e := range adj.out[at.vertex] {
			edge := t.Edges[e]
			to := int32(edge.To)
			if !s.passes(t.Vertices[to], node) {
				continue
			}
			w := way{latency: at.latency + edge.Latency, hops: at.hops + 1, edge: e}
			if had, ok := found.ways[to]; !ok || w.less(had) {
				found.ways[to] = w
				heap.Push(&q, reached{vertex: to, way: w})
			}
		}
	}
	slices.Sort(found.fabrics)
	return found
}

// reached is a vertex on the search's frontier.
type reached struct {
	vertex int32
	way
}

// queue is the frontier, nearest first, and by vertex where equally near.
type queue []reached

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].less(q[j].way) || q[j].less(q[i].way) {
		return q[i].less(q[j].way)
	}
	return q[i].vertex < q[j].vertex
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(reached)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
