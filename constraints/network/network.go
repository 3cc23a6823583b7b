package network

import (
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Network is a topology as a flow network: ranks first, then switches, NICs and the
// fabric, and then the second vertices of NICs, where messages from the fabric arrive.
type Network struct {
	Ranks    int
	Vertices int
	Origin   []int // by vertex: that of the topology
	Arcs     []Arc // in the order of the topology's edges
}

// Arc is an edge of the topology.
type Arc struct {
	From, To int   // vertices
	Capacity int64 // bytes a second
	Edge     int   // of the topology
}

// New returns the network of a topology, with NICs and the fabric only if there are
// several nodes.
func New(t *topologies.Topology) *Network {
	n := &Network{Ranks: len(t.Ranks), Vertices: len(t.Vertices)}
	in := make([]int, len(t.Vertices)) // by vertex of the topology: where messages from the fabric arrive
	for v := range t.Vertices {
		in[v] = v
		n.Origin = append(n.Origin, v)
	}
	for v, vertex := range t.Vertices {
		if vertex.Kind == topologies.NIC {
			in[v] = n.Vertices
			n.Vertices++
			n.Origin = append(n.Origin, v)
		}
	}
	outside := func(v int) bool { return t.Vertices[v].Kind >= topologies.NIC }
	for i, e := range t.Edges {
		if t.Nodes == 1 && (outside(e.From) || outside(e.To)) {
			continue
		}
		a := Arc{From: e.From, To: e.To, Capacity: int64(e.Bandwidth), Edge: i}
		if !outside(e.To) {
			a.From = in[e.From]
		}
		if outside(e.From) {
			a.To = in[e.To]
		}
		n.Arcs = append(n.Arcs, a)
	}
	return n
}

// Reversed returns the network with every arc reversed.
func (n *Network) Reversed() *Network {
	back := *n
	back.Arcs = slices.Clone(n.Arcs)
	for i := range back.Arcs {
		a := &back.Arcs[i]
		a.From, a.To = a.To, a.From
	}
	return &back
}
