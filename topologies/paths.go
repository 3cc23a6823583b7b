package topologies

import (
	"container/heap"
	"sync/atomic"

	"github.com/colltune/colltune/internal/units"
)

// Paths between ranks go through switches, NICs and the fabric, never through
// another rank. They are worked out rank by rank when first asked for, in
// pieces that fit together at the fabric, so that what is kept grows with the
// ranks of a node and not with the square of all ranks:
//
//	rank a ── out[a] ──▶ fabric ── in[b] ──▶ rank b      (another node)
//	rank a ── inside[a] ──▶ rank b                       (the same node, switches only)
type routes struct {
	inside []atomic.Pointer[tree] // by source: the node's own links and switches
	out    []atomic.Pointer[tree] // by source: everything up to the fabric
	in     []atomic.Pointer[tree] // by destination: everything from the fabric on
}

func (r *routes) init(ranks int) {
	r.inside = make([]atomic.Pointer[tree], ranks)
	r.out = make([]atomic.Pointer[tree], ranks)
	r.in = make([]atomic.Pointer[tree], ranks)
}

// tree is the best ways from (or, backwards, to) one rank: each vertex reached,
// with its distance and the edge next to it on the way.
type tree map[int32]way

// way ranks routes: least latency, then fewest edges, then by vertex order
// (which the search sees to).
type way struct {
	latency units.Duration
	hops    int32
	edge    int32 // last edge of the way, first when the tree is backwards; -1 at the root
}

func (w way) less(o way) bool {
	if w.latency != o.latency {
		return w.latency < o.latency
	}
	return w.hops < o.hops
}

// Path is the way messages from rank a to rank b take: least latency, then
// fewest edges, then lowest edge numbers. Its inner vertices are not ranks, and
// between ranks of one node neither NICs nor the fabric. ok is false where
// there is none, or where a and b are the same or out of range.
func (t *Topology) Path(a, b int) (p Path, ok bool) {
	if a == b || a < 0 || b < 0 || a >= len(t.Ranks) || b >= len(t.Ranks) {
		return Path{}, false
	}
	if t.Ranks[a].Node == t.Ranks[b].Node {
		tr := t.tree(&t.adjacent().routes.inside[a], a, false, true)
		w, ok := tr[int32(b)]
		return Path{Edges: t.follow(tr, b, false), Latency: w.latency}, ok
	}
	out, in, meet, w := t.across(a, b)
	if meet < 0 {
		return Path{}, false
	}
	edges := t.follow(out, meet, false)
	if meet != b {
		edges = append(edges, t.follow(in, meet, true)...)
	}
	return Path{Edges: edges, Latency: w.latency, Net: true}, true
}

// Linked tells whether rank a can send to rank b without another rank between.
func (t *Topology) Linked(a, b int) bool {
	if a == b || a < 0 || b < 0 || a >= len(t.Ranks) || b >= len(t.Ranks) {
		return false
	}
	if t.Ranks[a].Node == t.Ranks[b].Node {
		_, ok := t.tree(&t.adjacent().routes.inside[a], a, false, true)[int32(b)]
		return ok
	}
	_, _, meet, _ := t.across(a, b)
	return meet >= 0
}

// across finds where the best way from a to b, on another node, passes from
// a's tree to b's: a fabric vertex, or b itself where it is reached without the
// fabric; -1 for nowhere.
func (t *Topology) across(a, b int) (out, in tree, meet int, best way) {
	adj := t.adjacent()
	out = t.tree(&adj.routes.out[a], a, false, false)
	in = t.tree(&adj.routes.in[b], b, true, false)
	meet = -1
	consider := func(v int, w way) {
		if meet < 0 || w.less(best) {
			meet, best = v, w
		}
	}
	if w, ok := out[int32(b)]; ok {
		consider(b, w)
	}
	for _, f := range adj.fabrics {
		o, reached := out[f]
		i, reaches := in[f]
		if reached && reaches {
			consider(int(f), way{latency: o.latency + i.latency, hops: o.hops + i.hops})
		}
	}
	return out, in, meet, best
}

// follow lists the edges between the tree's root and v, in the direction
// messages take.
func (t *Topology) follow(tr tree, v int, backwards bool) []int {
	var edges []int
	for {
		w, ok := tr[int32(v)]
		if !ok || w.edge < 0 {
			break
		}
		edges = append(edges, int(w.edge))
		if v = t.Edges[w.edge].From; backwards {
			v = t.Edges[w.edge].To
		}
	}
	if !backwards {
		for i, j := 0, len(edges)-1; i < j; i, j = i+1, j-1 {
			edges[i], edges[j] = edges[j], edges[i]
		}
	}
	return edges
}

// tree returns the stored tree of a root, growing it first where it is not
// there yet. Two callers may grow the same one: they grow it alike.
func (t *Topology) tree(at *atomic.Pointer[tree], root int, backwards, inside bool) tree {
	if tr := at.Load(); tr != nil {
		return *tr
	}
	tr := t.grow(root, backwards, inside)
	at.Store(&tr)
	return tr
}

// grow is Dijkstra's algorithm from root. It goes on from vertices that
// messages may pass through: switches of the root's own node where inside is
// set; switches and NICs otherwise.
func (t *Topology) grow(root int, backwards, inside bool) tree {
	adj := t.adjacent()
	node := t.Ranks[root].Node
	next := adj.out
	if backwards {
		next = adj.in
	}
	found := tree{int32(root): {edge: -1}}
	done := map[int32]bool{}
	q := queue{{vertex: int32(root), way: found[int32(root)]}}
	for len(q) > 0 {
		at := heap.Pop(&q).(reached)
		if done[at.vertex] {
			continue
		}
		done[at.vertex] = true
		if kind := t.Vertices[at.vertex].Kind; at.vertex != int32(root) &&
			(kind == GPU || kind == Fabric || inside && kind == NIC) {
			continue
		}
		for _, e := range next[at.vertex] {
			edge := t.Edges[e]
			to := int32(edge.To)
			if backwards {
				to = int32(edge.From)
			}
			if v := t.Vertices[to]; inside && (v.Node != node || v.Kind == NIC || v.Kind == Fabric) {
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
