package synth

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	netgraph "github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// network is a topology measured in chunks a round: lanes from rank to rank, and
// the links that lanes use and share.
//
//	rank 0 ─6─▶ switch ─6─▶ rank 1      lane 0→1 uses both links; a link carries
//	        └──────────────▶ rank 2     6 chunks a round, whichever lanes they take
type network struct {
	ranks    int
	vertices int // ranks first, then the vertices between them; for the flow bounds
	unit     units.Bandwidth
	dropped  int // lanes over links of less than the unit
	lanes    []lane
	links    []link
	out, in  [][]int32 // by rank: lanes that leave and enter it
	dist     [][]int32 // fewest sends from rank to rank; -1 if there is no way
}

// lane is a path from rank to rank that a chunk takes within one step.
type lane struct {
	from, to int32
	links    []int32
}

// link is an edge of the topology that lanes share.
type link struct {
	from, to int32 // vertices
	capacity int   // chunks a round
	lanes    []int32
}

// maxRanks is the largest system; beyond it the lanes alone are in the millions.
const maxRanks = 256

// newNetwork reads the lanes from a topology. unit is the bandwidth of a chunk a
// round; 0 stands for the bandwidth of the slowest link of any lane. Links slower
// than that are left out. The error is ctx's, or a *QueryError.
func newNetwork(ctx context.Context, t *topologies.Topology, unit units.Bandwidth) (*network, error) {
	n := &network{ranks: len(t.Ranks), unit: unit}
	if n.ranks > maxRanks {
		return nil, &QueryError{fmt.Errorf("%s has %d ranks: routing step by step takes at most %d", t.Name, n.ranks, maxRanks)}
	}
	if unit < 0 {
		return nil, &QueryError{fmt.Errorf("unit %v: want more than 0", unit)}
	}
	hops, err := netgraph.Hops(ctx, t, false, nil)
	if err != nil {
		return nil, err
	}
	if unit == 0 {
		for _, h := range hops {
			for _, e := range h.Edges {
				if bw := t.Edges[e].Bandwidth; n.unit == 0 || bw < n.unit {
					n.unit = bw
				}
			}
		}
	}
	n.addLanes(t, hops)
	n.index()
	return n, nil
}

// addLanes makes hops lanes and their edges links. It drops hops with an edge that
// carries no chunk.
func (n *network) addLanes(t *topologies.Topology, hops []netgraph.Hop) {
	flow := netgraph.New(t) // where a NIC is two vertices, so that no flow turns round inside it
	n.vertices = flow.Vertices
	arcs := map[int]netgraph.Arc{} // by edge
	for _, a := range flow.Arcs {
		arcs[a.Edge] = a
	}
	number := map[int32]int32{} // by edge: its link
	for _, h := range hops {
		if slices.ContainsFunc(h.Edges, func(e int32) bool { return t.Edges[e].Bandwidth < n.unit }) {
			n.dropped++
			continue
		}
		l := lane{from: h.From, to: h.To}
		for _, e := range h.Edges {
			at, ok := number[e]
			if !ok {
				at = int32(len(n.links))
				number[e] = at
				arc := arcs[int(e)]
				n.links = append(n.links, link{from: int32(arc.From), to: int32(arc.To), capacity: int(t.Edges[e].Bandwidth / n.unit)})
			}
			l.links = append(l.links, at)
			n.links[at].lanes = append(n.links[at].lanes, int32(len(n.lanes)))
		}
		n.lanes = append(n.lanes, l)
	}
}

// index lists the lanes of each rank, and computes distances.
func (n *network) index() {
	n.out, n.in = make([][]int32, n.ranks), make([][]int32, n.ranks)
	for i, l := range n.lanes {
		n.out[l.from] = append(n.out[l.from], int32(i))
		n.in[l.to] = append(n.in[l.to], int32(i))
	}
	n.dist = make([][]int32, n.ranks)
	for a := range n.dist {
		n.dist[a] = make([]int32, n.ranks)
		for b := range n.dist[a] {
			n.dist[a][b] = -1
		}
		n.dist[a][a] = 0
		queue := []int32{int32(a)}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, l := range n.out[at] {
				if to := n.lanes[l].to; n.dist[a][to] < 0 {
					n.dist[a][to] = n.dist[a][at] + 1
					queue = append(queue, to)
				}
			}
		}
	}
}

// hop is the use of a lane in a step.
type hop struct {
	lane int32
	step int
}

// lane returns the number of the lane between two ranks, or -1 if there is none.
func (n *network) lane(from, to int) int32 {
	for _, l := range n.out[from] {
		if int(n.lanes[l].to) == to {
			return l
		}
	}
	return -1
}

// reversed is the network with all lanes and links reversed. Lanes keep their
// numbers.
func (n *network) reversed() *network {
	r := &network{ranks: n.ranks, vertices: n.vertices, unit: n.unit, dropped: n.dropped}
	r.lanes, r.links = slices.Clone(n.lanes), slices.Clone(n.links)
	for i := range r.lanes {
		r.lanes[i].from, r.lanes[i].to = r.lanes[i].to, r.lanes[i].from
	}
	for i := range r.links {
		r.links[i].from, r.links[i].to = r.links[i].to, r.links[i].from
	}
	r.index()
	return r
}

// undominated lists the links whose capacity is not implied by that of another link.
func (n *network) undominated() []int32 {
	var kept []int32
	for e := range n.links {
		if !n.dominated(int32(e)) {
			kept = append(kept, int32(e))
		}
	}
	return kept
}

// dominated reports whether another link carries all lanes of link e and is no
// wider.
func (n *network) dominated(e int32) bool {
	mine := n.links[e]
	if len(mine.lanes) == 0 {
		return true
	}
	for _, o := range n.lanes[mine.lanes[0]].links {
		other := n.links[o]
		if o == e || other.capacity > mine.capacity || len(other.lanes) < len(mine.lanes) {
			continue
		}
		same := other.capacity == mine.capacity && len(other.lanes) == len(mine.lanes)
		if same && o > e {
			continue // of two equal links the first counts
		}
		if subset(mine.lanes, other.lanes) {
			return true
		}
	}
	return false
}

// subset reports whether sorted list a is contained in sorted list b.
func subset(a, b []int32) bool {
	for _, x := range a {
		if _, ok := slices.BinarySearchFunc(b, x, cmp.Compare[int32]); !ok {
			return false
		}
	}
	return true
}
