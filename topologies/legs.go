package topologies

import "sort"

// leg is a path between a rank and a vertex of the fabric.
type leg struct {
	way
	fabric int32
	edges  []int // in order; paths share them
}

// uplink is an edge of a rank that leads to no rank, and the legs that go over it.
type uplink struct {
	edge int32
	legs []leg
}

// beyondRanks returns the edges of a rank that lead to no rank. Edges are sorted by their
// far ends, of which ranks come first.
func (t *Topology) beyondRanks(r int) []int32 {
	out := t.adjacent().out[r]
	return out[sort.Search(len(out), func(i int) bool { return t.Edges[out[i]].To >= len(t.Ranks) }):]
}

// uplinks returns a rank's, and finds them on first use. Concurrent callers may both do so,
// with equal results.
func (t *Topology) uplinks(r int) []uplink {
	at := &t.adjacent().routes.uplinks[r]
	if known := at.Load(); known != nil {
		return *known
	}
	var all []uplink
	for _, e := range t.beyondRanks(r) {
		u, to := uplink{edge: e}, int32(t.Edges[e].To)
		tr, step := t.tree(to, outside), way{latency: t.Edges[e].Latency, hops: 1}
		enters := tr.fabrics
		if t.Vertices[to].Kind == Fabric {
			enters = []int32{to}
		}
		for _, enter := range enters {
			u.legs = append(u.legs, leg{step.then(tr.ways[enter]), enter, t.follow([]int{int(e)}, to, enter, outside)})
		}
		all = append(all, u)
	}
	at.Store(&all)
	return all
}

// legs returns those from the fabric to a rank, as uplinks does.
func (t *Topology) legs(r int) []leg {
	adj := t.adjacent()
	at := &adj.routes.legs[r]
	if known := at.Load(); known != nil {
		return *known
	}
	var all []leg
	for _, exit := range adj.into[t.Ranks[r].Node] {
		if w, reached := t.tree(exit, outside).ways[int32(r)]; reached {
			all = append(all, leg{w, exit, t.follow(nil, exit, int32(r), outside)})
		}
	}
	at.Store(&all)
	return all
}
