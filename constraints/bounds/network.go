package bounds

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/colltune/colltune/constraints/network"
	"github.com/colltune/colltune/topologies"
)

// scaledNetwork is a flow network with capacities in units of its own.
type scaledNetwork struct {
	*network.Network
	unit      int64 // bytes a second in a unit of capacity
	roundedUp bool  // capacities were rounded up
}

// maxTotal limits the sum of capacities times the parts that the size is divided
// into. Flows scale capacities by denominators up to the parts, and must fit an
// int64.
const maxTotal = 1 << 60

// newNetwork returns the network of a topology. Capacities that are too large to
// compute with exactly are rounded up: the bound is then valid but not exact.
func newNetwork(t *topologies.Topology, parts int64) (*scaledNetwork, error) {
	n := &scaledNetwork{Network: network.New(t)}
	if len(n.Arcs) == 0 {
		return nil, fmt.Errorf("topology %s has %d ranks and no links", t.Name, n.Ranks)
	}
	n.scale(maxTotal / parts)
	return n, nil
}

// scale expresses capacities in a unit, such that their sum is at most most.
func (n *scaledNetwork) scale(most int64) {
	unit, total := int64(0), new(big.Int)
	for _, a := range n.Arcs {
		unit = gcd(unit, a.Capacity)
	}
	sum := int64(0) // of quotients, as far as it fits
	for _, a := range n.Arcs {
		c := a.Capacity / unit
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
	for i := range n.Arcs {
		c := &n.Arcs[i].Capacity
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
func (n *scaledNetwork) reversed() *scaledNetwork {
	return &scaledNetwork{n.Network.Reversed(), n.unit, n.roundedUp}
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
	// Edges are sorted by vertex, so they are in the same order in every node;
	// those that leave the fabric come last in each.
	return slices.Equal(kindsA, kindsB) && slices.Equal(a, b)
}
