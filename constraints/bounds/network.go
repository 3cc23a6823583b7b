package bounds

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// network is a topology as a flow network: ranks first, then switches, NICs and the
// fabric. A NIC is two vertices, one for each direction, because data do not turn round
// inside it:
//
//	rank ─▶ nic out ─▶ fabric ─▶ nic in ─▶ rank
type network struct {
	ranks      int
	vertices   int
	topoVertex []int32 // by vertex: that of the topology
	arcs       []arc
	unit       int64 // bytes a second in a unit of capacity
	roundedUp  bool  // capacities were rounded up
}

type arc struct {
	from, to int32
	capacity int64
	edge     int // of the topology
}

// maxTotal limits the sum of capacities times the parts that the size is divided
// into. Flows scale capacities by denominators up to the parts, and must fit an
// int64.
const maxTotal = 1 << 60

// newNetwork builds the network of a topology, with NICs and the fabric only if there
// are several nodes. Capacities that are too large to compute with exactly are rounded
// up: the bound is then valid but not exact.
func newNetwork(t *topologies.Topology, parts int64) (*network, error) {
	n := &network{ranks: len(t.Ranks), vertices: len(t.Vertices)}
	in := make([]int32, len(t.Vertices)) // where messages from the fabric arrive
	for v := range t.Vertices {
		in[v] = int32(v)
		n.topoVertex = append(n.topoVertex, int32(v))
	}
	for v, vertex := range t.Vertices {
		if vertex.Kind == topologies.NIC {
			in[v] = int32(n.vertices)
			n.vertices++
			n.topoVertex = append(n.topoVertex, int32(v))
		}
	}
	for i, e := range t.Edges {
		from, to := t.Vertices[e.From].Kind, t.Vertices[e.To].Kind
		if t.Nodes == 1 && (from >= topologies.NIC || to >= topologies.NIC) {
			continue
		}
		a := arc{from: int32(e.From), to: int32(e.To), capacity: int64(e.Bandwidth), edge: i}
		if from == topologies.NIC && to == topologies.GPU || from == topologies.NIC && to == topologies.Switch {
			a.from = in[e.From]
		}
		if to == topologies.NIC && (from == topologies.Fabric || from == topologies.NIC) {
			a.to = in[e.To]
		}
		n.arcs = append(n.arcs, a)
	}
	if len(n.arcs) == 0 {
		return nil, fmt.Errorf("topology %s has %d ranks and no links", t.Name, n.ranks)
	}
	n.scale(maxTotal / parts)
	return n, nil
}

// scale expresses capacities in a unit, such that their sum is at most most.
func (n *network) scale(most int64) {
	unit, total := int64(0), new(big.Int)
	for _, a := range n.arcs {
		unit = gcd(unit, a.capacity)
	}
	sum := int64(0) // of quotients, as far as it fits
	for _, a := range n.arcs {
		c := a.capacity / unit
		if sum > math.MaxInt64-c {
			total.Add(total, big.NewInt(sum))
			sum = 0
		}
		sum += c
	}
	total.Add(total, big.NewInt(sum))
	exact := big.NewInt(unit)
	limit := big.NewInt(most)
	for total.Cmp(limit) > 0 {
		total.Mul(total, exact)
		exact.Lsh(exact, 1)
		total.Quo(total, exact)
		n.roundedUp = true
	}
	n.unit = exact.Int64()
	for i := range n.arcs {
		c := &n.arcs[i].capacity
		*c = (*c-1)/n.unit + 1
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// reversed returns the network with every link reversed.
func (n *network) reversed() *network {
	back := *n
	back.arcs = slices.Clone(n.arcs)
	for i := range back.arcs {
		a := &back.arcs[i]
		a.from, a.to = a.to, a.from
	}
	return &back
}

// interchangeable reports whether any two nodes can be swapped: all have the same links
// inside and to the fabric, and none are linked directly.
func interchangeable(t *topologies.Topology) bool {
	if t.Nodes < 2 {
		return false
	}
	at := make([]int32, len(t.Vertices)) // position within its node; negative in the fabric
	size := make([]int32, t.Nodes)
	kinds := make([][]topologies.VertexKind, t.Nodes)
	fabrics := int32(0)
	for v, vertex := range t.Vertices {
		if vertex.Node < 0 {
			fabrics++
			at[v] = -fabrics
			continue
		}
		at[v] = size[vertex.Node]
		size[vertex.Node]++
		kinds[vertex.Node] = append(kinds[vertex.Node], vertex.Kind)
	}
	edges := make([][]topologies.Edge, t.Nodes)
	for _, e := range t.Edges {
		from, to := t.Vertices[e.From].Node, t.Vertices[e.To].Node
		if from >= 0 && to >= 0 && from != to {
			return false
		}
		node := max(from, to)
		if node < 0 {
			continue // within the fabric: it belongs to no node
		}
		e.From, e.To = int(at[e.From]), int(at[e.To])
		edges[node] = append(edges[node], e)
	}
	for node := 1; node < t.Nodes; node++ {
		if !sameNode(kinds[0], kinds[node], edges[0], edges[node]) {
			return false
		}
	}
	return true
}

func sameNode(kindsA, kindsB []topologies.VertexKind, a, b []topologies.Edge) bool {
	if len(kindsA) != len(kindsB) || len(a) != len(b) {
		return false
	}
	for i := range kindsA {
		if kindsA[i] != kindsB[i] {
			return false
		}
	}
	// Edges are sorted by vertex, so they are in the same order in every node;
	// those that leave the fabric come last in each.
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
