package greedy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/topologies"
)

// hopGraph is the ranks and the hops between them. It is no flow network: a message
// occupies all edges of its hop at once, and takes time for each, whatever the flow. A
// schedule for the reversed graph, played backwards, is a schedule for the topology.
type hopGraph struct {
	ctx       context.Context // whose end ends all that is made: see checkInterval
	t         *topologies.Topology
	ranks     int
	hops      []network.Hop
	in        [][]int32 // hops to a rank
	out       [][]int32 // hops from a rank
	byEdge    [][]int32 // hops over an edge
	lastEdges [][]int32 // edges by which hops reach a rank
	inRate    []float64 // by rank: what can enter it, in bytes a microsecond
	disjoint  bool      // no two hops share an edge
}

// maxFullPairs is the number of linked pairs of ranks in different nodes up to which each gets
// a hop. If there are more, see nodePairs.
const maxFullPairs = 4096

// newHopGraph returns the graph of a topology, reversed if turned.
func newHopGraph(ctx context.Context, t *topologies.Topology, turned bool) (n *hopGraph, err error) {
	n = &hopGraph{ctx: ctx, t: t, ranks: len(t.Ranks)}
	var wanted func(from, to int) bool
	if n.tooManyPairs() {
		chosen := newNodePairs(ctx, t)
		wanted = func(from, to int) bool { return t.Ranks[from].Node == t.Ranks[to].Node || chosen.has(from, to) }
	}
	n.hops, err = network.Hops(ctx, t, turned, wanted)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("greedy routing on %s: %w", t.Name, err)
	}
	n.in = n.hopsBy(n.ranks, func(h *network.Hop, keys []int32) []int32 { return append(keys, h.To) })
	n.out = n.hopsBy(n.ranks, func(h *network.Hop, keys []int32) []int32 { return append(keys, h.From) })
	n.byEdge = n.hopsBy(len(t.Edges), func(h *network.Hop, keys []int32) []int32 { return append(keys, h.Edges...) })
	return n, n.listEnds(turned)
}

// tooManyPairs reports whether more than maxFullPairs ranks of different nodes are linked.
func (n *hopGraph) tooManyPairs() bool {
	across := 0
	for a := range n.t.Ranks {
		if n.ctx.Err() != nil {
			break
		}
		for b := range n.t.Ranks {
			if n.t.Ranks[a].Node != n.t.Ranks[b].Node && across <= maxFullPairs && n.t.Linked(a, b) {
				across++
			}
		}
	}
	return across > maxFullPairs
}

// listEnds finds the last edges of the hops to each rank, and their rate together.
func (n *hopGraph) listEnds(turned bool) error {
	n.disjoint = true
	n.inRate = make([]float64, n.ranks)
	n.lastEdges = make([][]int32, n.ranks)
	seen := make([]int32, len(n.t.Edges)) // by edge: 1 + the last rank that hops reach over it
	for v, hops := range n.in {
		for _, h := range hops {
			edges := n.hops[h].Edges
			n.disjoint = n.disjoint && len(edges) == 1
			end := edges[len(edges)-1]
			if turned {
				end = edges[0]
			}
			if seen[end] <= int32(v) {
				seen[end] = int32(v) + 1
				n.lastEdges[v] = append(n.lastEdges[v], end)
				n.inRate[v] += n.t.Edges[end].Bandwidth.PerMicro()
			}
		}
		if len(hops) == 0 {
			way := "to"
			if turned {
				way = "from"
			}
			return fmt.Errorf("greedy routing on %s: no way leads %s rank %d", n.t.Name, way, v)
		}
	}
	return nil
}

// checkInterval is the number of short operations, such as playing a message, between two
// checks of the context.
const checkInterval = 1 << 10

// hopsBy groups the hops by rank or edge. of appends the keys of a hop.
func (n *hopGraph) hopsBy(count int, of func(h *network.Hop, keys []int32) []int32) [][]int32 {
	ends := make([]int32, count+1)
	var keys []int32
	for h := range n.hops {
		keys = of(&n.hops[h], keys[:0])
		for _, key := range keys {
			ends[key+1]++
		}
	}
	for i := range count {
		ends[i+1] += ends[i]
	}
	all, lists := make([]int32, ends[count]), make([][]int32, count)
	for i := range lists {
		lists[i] = all[ends[i]:ends[i]:ends[i+1]]
	}
	for h := range n.hops {
		keys = of(&n.hops[h], keys[:0])
		for _, key := range keys {
			lists[key] = append(lists[key], int32(h))
		}
	}
	return lists
}

// cost returns the time for which a message occupies each edge of a hop, appended to busy, and
// the time after which it arrives, in microseconds.
func (n *hopGraph) cost(h int32, bytes float64, busy []float64) (taken []float64, arrive float64) {
	hop := &n.hops[h]
	for _, e := range hop.Edges {
		edge := &n.t.Edges[e]
		serial := float64(edge.Message) + bytes/edge.Bandwidth.PerMicro()
		arrive = max(arrive, serial)
		busy = append(busy, serial+float64(edge.Latency))
	}
	return busy, arrive + hop.Latency
}

// message is a send without its time.
type message struct {
	hop    int32
	reduce bool
	chunks []int32
}

// play assigns times to messages: in their order, each starts as soon as its chunks are there
// and its edges are free. end is when the last one arrives. In a reduction, a chunk is ready
// when all messages before that combine into it have arrived. If the context ends, there are
// no sends, and end is infinite.
func (n *hopGraph) play(list []message, part float64) (sends []Send, end float64) {
	free := make([]float64, len(n.t.Edges))
	ready := make([]float64, n.ranks*n.ranks)
	sends = make([]Send, len(list))
	var busy []float64
	for i, m := range list {
		if i%checkInterval == 0 && n.ctx.Err() != nil {
			return nil, math.Inf(1)
		}
		hop := &n.hops[m.hop]
		start := 0.0
		for _, e := range hop.Edges {
			start = max(start, free[e])
		}
		for _, c := range m.chunks {
			start = max(start, ready[int(hop.From)*n.ranks+int(c)])
		}
		var arrive float64
		busy, arrive = n.cost(m.hop, part*float64(len(m.chunks)), busy[:0])
		for j, e := range hop.Edges {
			free[e] = start + busy[j]
		}
		arrive += start
		for _, c := range m.chunks {
			at := int(hop.To)*n.ranks + int(c)
			ready[at] = max(ready[at], arrive)
		}
		sends[i] = Send{From: hop.From, To: hop.To, Reduce: m.reduce, Chunks: m.chunks, Start: start, End: arrive}
		end = max(end, arrive)
	}
	return sends, end
}

// hopOf returns the hop between two ranks, which must exist.
func (n *hopGraph) hopOf(from, to int32) int32 {
	i, _ := slices.BinarySearchFunc(n.out[from], to, func(h, to int32) int { return int(n.hops[h].To - to) })
	return n.out[from][i]
}
