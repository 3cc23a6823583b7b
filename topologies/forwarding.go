package topologies

import (
	"maps"
	"math"
	"slices"
)

// through is a route by way of other GPUs of the node, while the nearest are looked for.
type through struct {
	edges []int
	width float64 // bytes a µs, of the narrowest edge
}

// Forwarding returns the system with paths between GPUs of a node by way of others, as the
// vendors' libraries have them for sends between GPUs without a link; t itself if there are
// none. xGMI carries a peer's accesses over any number of links (RCCL, graph/paths.cc,
// ncclTopoSetXgmi); NCCL sends over two NVLinks, by way of one GPU (PATH_NVB). A path has the
// fewest links, of these the widest narrowest one, and of these the first in the file.
//
// Programs that a runtime loads do without.
func (t *Topology) Forwarding() *Topology {
	forwarded := map[[2]int]Path{}
	for a := range t.Ranks {
		for b, by := range t.nearest(a) {
			if t.Linked(a, b) {
				continue
			}
			p := Path{Edges: by.edges}
			for _, e := range by.edges {
				p.Latency += t.Edges[e].Latency
			}
			forwarded[[2]int{a, b}] = p
		}
	}
	if len(forwarded) == 0 {
		return t
	}
	all := t.Clone()
	all.forwarded = forwarded
	return all
}

// mostForwarded is how many links of a kind a forwarded message passes at most.
var mostForwarded = map[LinkKind]int{XGMI: math.MaxInt, NVLink: 2}

// nearest returns the routes from a rank over the direct links of its node, by rank.
func (t *Topology) nearest(from int) map[int]through {
	found := map[int]through{}
	last := map[int]through{from: {}}
	for links := 1; len(last) > 0; links++ {
		next := map[int]through{}
		for _, at := range t.NodeRanks(t.Ranks[from].Node) {
			by, reached := last[at]
			if !reached {
				continue
			}
			for _, e := range t.Out(at) {
				to := t.Edges[e].To
				_, nearer := found[to]
				if nearer || to == from || t.Vertices[to].Kind != GPU || t.Ranks[to].Node != t.Ranks[from].Node || links > mostForwarded[t.Edges[e].Kind] {
					continue
				}
				width := t.Edges[e].Bandwidth.PerMicro()
				if links > 1 {
					width = min(width, by.width)
				}
				if width > next[to].width {
					next[to] = through{append(slices.Clone(by.edges), int(e)), width}
				}
			}
		}
		maps.Copy(found, next)
		last = next
	}
	return found
}
