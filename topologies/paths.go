package topologies

import (
	"container/heap"
	"sort"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
)

// routes keeps the best ways on from each vertex that is not a rank, worked out
// when first asked for. A path between ranks is put together from them, so that
// what is kept does not grow with the square of the ranks:
//
//	rank a ─▶ switch ═ inside[switch] ═▶ rank b                       same node
//	rank a ─▶ nic ═ outside[nic] ═▶ fabric ═ outside[fabric] ═▶ rank b
type routes struct {
	ranks   int
	inside  []atomic.Pointer[tree] // by vertex less ranks: over the node's switches
	outside []atomic.Pointer[tree] // the same: over switches and NICs, to fabrics
}

func (r *routes) init(ranks, vertices int) {
	r.ranks = ranks
	r.inside = make([]atomic.Pointer[tree], vertices-ranks)
	r.outside = make([]atomic.Pointer[tree], vertices-ranks)
}

// tree is the best ways from one vertex: each vertex reached, with the distance
// and the last edge.
type tree map[int32]way

// way ranks routes: least latency, then fewest edges.
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

// route is a way from rank to rank and where to look its edges up: the first
// edge, the tree it leads into and, where the way crosses a fabric, that vertex.
type route struct {
	way
	first  int32
	fabric int32 // -1 for none
	net    bool
}

// Path is the way messages from rank a to rank b take: least latency, then
// fewest edges, then lowest edge numbers. Its inner vertices are not ranks, and
// between ranks of one node neither NICs nor the fabric. ok is false where
// there is none, or where a and b are the same or out of range.
func (t *Topology) Path(a, b int) (p Path, ok bool) {
	r, ok := t.route(a, b)
	if !ok {
		return Path{}, false
	}
	p = Path{Edges: make([]int, 0, r.hops), Latency: r.latency, Net: r.net}
	p.Edges = append(p.Edges, int(r.first))
	at := int32(t.Edges[r.first].To)
	if r.fabric >= 0 {
		p.Edges = t.follow(p.Edges, at, r.fabric, r.net)
		at = r.fabric
	}
	return Path{Edges: t.follow(p.Edges, at, int32(b), r.net), Latency: p.Latency, Net: p.Net}, true
}

// Linked tells whether rank a can send to rank b without another rank between.
func (t *Topology) Linked(a, b int) bool {
	_, ok := t.route(a, b)
	return ok
}

func (t *Topology) route(a, b int) (best route, ok bool) {
	if a == b || a < 0 || b < 0 || a >= len(t.Ranks) || b >= len(t.Ranks) {
		return route{}, false
	}
	adj := t.adjacent()
	net := t.Ranks[a].Node != t.Ranks[b].Node
	consider := func(first, fabric int32, w way) {
		if !ok || w.less(best.way) {
			best, ok = route{way: w, first: first, fabric: fabric, net: net}, true
		}
	}
	out := adj.out[a]
	direct := sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= b })
	for ; direct < len(out) && t.Edges[out[direct]].To == b; direct++ {
		consider(out[direct], -1, way{latency: t.Edges[out[direct]].Latency, hops: 1})
	}
	// Edges are sorted by where they lead, and ranks come first.
	inner := sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= len(t.Ranks) })
	for _, e := range out[inner:] {
		to := int32(t.Edges[e].To)
		if v := t.Vertices[to]; !net && (v.Kind != Switch || v.Node != t.Ranks[a].Node) {
			continue
		}
		step := way{latency: t.Edges[e].Latency, hops: 1}
		tr := t.tree(to, net)
		if w, reached := tr[int32(b)]; reached {
			consider(e, -1, step.then(w))
		}
		if !net {
			continue
		}
		for _, f := range adj.fabrics {
			if w, reached := tr[f]; reached && f != to {
				if on, reaches := t.tree(f, true)[int32(b)]; reaches {
					consider(e, f, step.then(w).then(on))
				}
			}
		}
	}
	return best, ok
}

// follow appends the edges of the way from one vertex to another.
func (t *Topology) follow(edges []int, from, to int32, net bool) []int {
	if from == to {
		return edges
	}
	tr := t.tree(from, net)
	start := len(edges)
	for at := to; at != from; {
		e := tr[at].edge
		edges = append(edges, int(e))
		at = int32(t.Edges[e].From)
	}
	for i, j := start, len(edges)-1; i < j; i, j = i+1, j-1 {
		edges[i], edges[j] = edges[j], edges[i]
	}
	return edges
}

// tree returns the stored tree of a vertex, growing it first where it is not
// there yet. Two callers may grow the same one: they grow it alike.
func (t *Topology) tree(root int32, net bool) tree {
	r := &t.adjacent().routes
	at := &r.inside[int(root)-r.ranks]
	if net {
		at = &r.outside[int(root)-r.ranks]
	}
	if tr := at.Load(); tr != nil {
		return *tr
	}
	tr := t.grow(root, net)
	at.Store(&tr)
	return tr
}

// grow is Dijkstra's algorithm from a vertex that is not a rank. It ends at
// ranks and at fabrics; without net it stays among the node's own switches.
func (t *Topology) grow(root int32, net bool) tree {
	adj := t.adjacent()
	node := t.Vertices[root].Node
	found := tree{root: {edge: -1}}
	done := map[int32]bool{}
	q := queue{{vertex: root, way: found[root]}}
	for len(q) > 0 {
		at := heap.Pop(&q).(reached)
		if done[at.vertex] {
			continue
		}
		done[at.vertex] = true
		if kind := t.Vertices[at.vertex].Kind; at.vertex != root && (kind == GPU || kind == Fabric) {
			continue
		}
		for _, e := range adj.out[at.vertex] {
			edge := t.Edges[e]
			to := int32(edge.To)
			if v := t.Vertices[to]; !net && (v.Node != node || v.Kind == NIC || v.Kind == Fabric) {
				continue
			}
			w := way{latency: at.latency + edge.Latency, hops: at.hops + 1, edge: e}
			if had, ok := found[to]; !ok || w.less(had) {
				found[to] = w
				heap.Push(&q, reached{vertex: to, way: w})
			}
		}
	}
	return found
}

// reached is a vertex on the search's frontier.
type reached struct {
	vertex int32
	way
}

// queue is the frontier, nearest first, equal ones by vertex.
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
