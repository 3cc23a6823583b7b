package greedy

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// network is the hops between ranks and the edges that they use. A schedule for the reversed
// network, played backwards, is a schedule for the topology.
type network struct {
	ctx       context.Context // whose end ends whatever is made: see look
	t         *topologies.Topology
	ranks     int
	hops      []hop
	in        [][]int32 // hops to a rank
	out       [][]int32 // hops from a rank
	byEdge    [][]int32 // hops over an edge
	lastEdges [][]int32 // edges by which hops reach a rank
	alpha     Alpha
	// speed is what can enter each rank, in bytes a microsecond.
	inRate []float64
	// direct means that no two hops share an edge.
	disjoint bool
}

// hop is the path from a rank to one that it is linked to.
type hop struct {
	from, to int32
	edges    []int32
	latency  float64 // microseconds
	net      bool    // it leaves the node
}

// maxFullPairs is the number of linked pairs of ranks in different nodes up to which each gets
// a hop. If there are more, see nodePairs.
const maxFullPairs = 4096

// maxHops limits the memory of a network.
const maxHops = 1 << 22

func newNetwork(ctx context.Context, t *topologies.Topology, turned bool, alpha Alpha) (*network, error) {
	n := &network{ctx: ctx, t: t, ranks: len(t.Ranks), alpha: alpha, hops: make([]hop, 0, len(t.Edges))}
	if err := n.listHops(turned); err != nil {
		return nil, err
	}
	n.in = n.hopsBy(n.ranks, func(h *hop, keys []int32) []int32 { return append(keys, h.to) })
	n.out = n.hopsBy(n.ranks, func(h *hop, keys []int32) []int32 { return append(keys, h.from) })
	n.byEdge = n.hopsBy(len(t.Edges), func(h *hop, keys []int32) []int32 { return append(keys, h.edges...) })
	return n, n.listEnds(turned)
}

// tooManyPairs reports whether more than maxFullPairs ranks of different nodes are linked.
func (n *network) tooManyPairs() bool {
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

// listHops finds the hops, of the reversed network if turned.
func (n *network) listHops(turned bool) error {
	t := n.t
	edges := make([]int32, 0, len(t.Edges)) // storage for the edges of all hops
	var chosen *nodePairs
	if n.tooManyPairs() {
		chosen = newNodePairs(n.ctx, t)
	}
	for a := range t.Ranks {
		if err := n.ctx.Err(); err != nil {
			return err
		}
		for b := range t.Ranks {
			from, to := a, b
			if turned {
				from, to = b, a
			}
			if chosen != nil && t.Ranks[a].Node != t.Ranks[b].Node && !chosen.has(from, to) {
				continue
			}
			path, ok := t.Path(from, to)
			if !ok {
				continue
			}
			if len(n.hops) == maxHops {
				return fmt.Errorf("greedy routing on %s: more than %d pairs of linked ranks", t.Name, maxHops)
			}
			first := len(edges)
			for _, e := range path.Edges {
				edges = append(edges, int32(e))
			}
			n.hops = append(n.hops, hop{from: int32(a), to: int32(b), edges: edges[first:len(edges):len(edges)], latency: float64(path.Latency), net: path.Net})
		}
	}
	return nil
}

// listEnds finds the last edges of the hops to each rank, and their rate together.
func (n *network) listEnds(turned bool) error {
	n.disjoint = true
	n.inRate = make([]float64, n.ranks)
	n.lastEdges = make([][]int32, n.ranks)
	seen := make([]int32, len(n.t.Edges)) // by edge: 1 + the last rank that hops reach over it
	for v, hops := range n.in {
		for _, h := range hops {
			edges := n.hops[h].edges
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
func (n *network) hopsBy(count int, of func(h *hop, keys []int32) []int32) [][]int32 {
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
func (n *network) cost(h int32, bytes float64, busy []float64) (taken []float64, arrive float64) {
	hop := &n.hops[h]
	for _, e := range hop.edges {
		edge := &n.t.Edges[e]
		serial := float64(edge.Message) + bytes/edge.Bandwidth.PerMicro()
		arrive = max(arrive, serial)
		if n.alpha == Blocking {
			serial += float64(edge.Latency)
		}
		busy = append(busy, serial)
	}
	return busy, arrive + hop.latency
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
func (n *network) play(list []message, chunks int, part float64) (sends []Send, end float64) {
	total := n.ranks * chunks
	free := make([]float64, len(n.t.Edges))
	ready := make([]float64, n.ranks*total)
	sends = make([]Send, len(list))
	var busy []float64
	for i, m := range list {
		if i%checkInterval == 0 && n.ctx.Err() != nil {
			return nil, math.Inf(1)
		}
		hop := &n.hops[m.hop]
		start := 0.0
		for _, e := range hop.edges {
			start = max(start, free[e])
		}
		for _, c := range m.chunks {
			start = max(start, ready[int(hop.from)*total+int(c)])
		}
		var arrive float64
		busy, arrive = n.cost(m.hop, part*float64(len(m.chunks)), busy[:0])
		for j, e := range hop.edges {
			free[e] = start + busy[j]
		}
		arrive += start
		for _, c := range m.chunks {
			at := int(hop.to)*total + int(c)
			ready[at] = max(ready[at], arrive)
		}
		sends[i] = Send{From: hop.from, To: hop.to, Reduce: m.reduce, Chunks: m.chunks, Start: start, End: arrive}
		end = max(end, arrive)
	}
	return sends, end
}

// hopOf returns the hop between two ranks, which must exist.
func (n *network) hopOf(from, to int32) int32 {
	i, _ := slices.BinarySearchFunc(n.out[from], to, func(h, to int32) int { return int(n.hops[h].to - to) })
	return n.out[from][i]
}
