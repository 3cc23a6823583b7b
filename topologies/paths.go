package topologies

import (
	"container/heap"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
)

// routes caches shortest-path trees from vertices that are not ranks, and the legs of
// ranks, computed on first use. Paths between ranks are composed of them, so the cache does
// not grow with the square of the ranks:
//
//	rank a ─▶ switch ═ inside ═▶ rank b                                 same node
//	rank a ─▶ nic ═ outside ═▶ leaf ═ core ═▶ leaf ═ outside ═▶ rank b
//	└───── leg of a uplink ─────┘            └─── leg of b ───┘
type routes struct {
	ranks   int
	trees   [3][]atomic.Pointer[tree]  // by scope, and by vertex without the ranks
	uplinks []atomic.Pointer[[]uplink] // by rank
	legs    []atomic.Pointer[[]leg]    // by rank: from fabric vertices to it
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
	r.uplinks, r.legs = make([]atomic.Pointer[[]uplink], ranks), make([]atomic.Pointer[[]leg], ranks)
	for s := range r.trees {
		r.trees[s] = make([]atomic.Pointer[tree], vertices-ranks)
	}
}

// tree is the shortest paths from one vertex to all that it reaches, each with
// its distance and last edge.
type tree struct {
	ways    map[int32]way
	fabrics []int32 // the fabric vertices that it reaches, rising
	abroad  bool    // it reaches ranks of other nodes than its root's
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

// route is a path between two ranks in parts: the first edge, and what is left of the tree
// into which it leads, or else the legs to the fabric and from it.
type route struct {
	way
	first    int32
	up, down *leg // nil for none
	net      bool
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
	for _, part := range t.parts(&r, b) {
		p.Edges = append(p.Edges, part...)
	}
	return p, true
}

// Route returns the path from rank a to rank b in parts that paths share, which are not to be
// changed. Its meaning and ok are Path's.
func (t *Topology) Route(a, b int) (r Route, ok bool) {
	found, ok := t.route(a, b)
	if !ok {
		p, ok := t.forwarded[[2]int{a, b}]
		return Route{Parts: [3][]int{p.Edges}, Latency: p.Latency, Net: p.Net}, ok
	}
	return Route{Parts: t.parts(&found, b), Latency: found.latency, Net: found.net}, true
}

// parts returns the edges of a route to a rank.
func (t *Topology) parts(r *route, to int) (parts [3][]int) {
	if r.up != nil {
		return [3][]int{r.up.edges, t.follow(nil, r.up.fabric, r.down.fabric, core), r.down.edges}
	}
	s := inside
	if r.net {
		s = outside
	}
	parts[0] = t.follow([]int{int(r.first)}, int32(t.Edges[r.first].To), int32(to), s)
	return parts
}

func (t *Topology) route(a, b int) (best route, ok bool) {
	if a == b || a < 0 || b < 0 || a >= len(t.Ranks) || b >= len(t.Ranks) {
		return route{}, false
	}
	net := t.Ranks[a].Node != t.Ranks[b].Node
	consider := func(first int32, up, down *leg, w way) {
		if !ok || w.less(best.way) {
			best, ok = route{way: w, first: first, up: up, down: down, net: net}, true
		}
	}
	out := t.adjacent().out[a]
	direct := sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= b })
	for ; direct < len(out) && t.Edges[out[direct]].To == b; direct++ {
		consider(out[direct], nil, nil, way{latency: t.Edges[out[direct]].Latency, hops: 1})
	}
	if !net {
		for _, e := range t.beyondRanks(a) {
			v := t.Vertices[t.Edges[e].To]
			if v.Kind != Switch || v.Node != t.Ranks[a].Node {
				continue
			}
			if w, reached := t.tree(int32(t.Edges[e].To), inside).ways[int32(b)]; reached {
				consider(e, nil, nil, way{latency: t.Edges[e].Latency, hops: 1}.then(w))
			}
		}
		return best, ok
	}
	ups, downs := t.uplinks(a), t.legs(b)
	for i := range ups {
		u := &ups[i]
		to := int32(t.Edges[u.edge].To)
		if tr := t.tree(to, outside); tr.abroad && t.Vertices[to].Kind != Fabric {
			if w, reached := tr.ways[int32(b)]; reached {
				consider(u.edge, nil, nil, way{latency: t.Edges[u.edge].Latency, hops: 1}.then(w))
			}
		}
		for i := range u.legs {
			up := &u.legs[i]
			for k := range downs {
				down, across, joined := &downs[k], way{}, true
				if up.fabric != down.fabric {
					across, joined = t.tree(up.fabric, core).ways[down.fabric]
				}
				if joined {
					consider(u.edge, up, down, up.then(across).then(down.way))
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
	slices.Reverse(edges[start:])
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
		if kind == GPU && t.Vertices[at.vertex].Node != node {
			found.abroad = true
		}
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
