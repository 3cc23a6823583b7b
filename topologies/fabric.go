package topologies

import "github.com/colltune/colltune/internal/units"

// fabricPlan joins the NICs of all nodes. A plane is a network by itself; a
// leaf is a switch of a plane with the nodes of a group below it:
//
//	spine            ┌──── spine ────┐             leaf ─── leaf      global:
//	                leaf            leaf             │  ╲   ╱ │        every two
//	group of 2    ┌──┴──┐         ┌──┴──┐            │    ╳   │        leaves
//	            nic 0  nic 0    nic 0  nic 0       leaf ─── leaf
//	           node 0  node 1  node 2  node 3
//
// Without spines and global links, there is one leaf for each plane.
type fabricPlan struct {
	name    string
	latency units.Duration // from NIC to NIC below the same leaf
	planes  int
	group   int // nodes below each leaf; 0 for all
	spine   *spinePlan
	global  *wire
	cables  []cablePlan
}

// spinePlan joins the leaves of a plane, or of all planes.
type spinePlan struct {
	over      ratio           // what the NICs below a leaf carry, over its uplink; 0 if bandwidth gives the latter
	bandwidth units.Bandwidth // of a leaf's uplink
	latency   units.Duration  // added on the way up
	across    bool
}

// cablePlan joins GPU a of a node directly to GPU b of another.
type cablePlan struct {
	a, b   int
	nodes  [][2]int // which nodes; nil for every two, in both orders
	next   bool     // each node and the next, and the last and the first
	oneWay bool
	wire
	message units.Duration
}

// leaves returns the number of leaves in a plane.
func (f *fabricPlan) leaves(nodes int) int {
	if f.group == 0 {
		return 1
	}
	return (nodes + f.group - 1) / f.group
}

func (f *fabricPlan) leaf(node int) int {
	if f.group == 0 {
		return 0
	}
	return node / f.group
}

// spines returns the number of spines: one for each plane, or one.
func (f *fabricPlan) spines(nodes int) int {
	switch {
	case f.spine == nil:
		return 0
	case f.spine.across:
		return 1
	case f.leaves(nodes) < 2:
		return 0
	}
	return f.planes
}

// edges returns the largest possible number of edges between leaves and spines,
// and of cables.
func (f *fabricPlan) edges(nodes int) int64 {
	leaves := int64(f.leaves(nodes))
	all := 2 * int64(f.planes) * leaves
	if f.global != nil {
		all += int64(f.planes) * leaves * leaves
	}
	for _, c := range f.cables {
		all += 2 * c.pairs(nodes)
	}
	return all
}

func (c *cablePlan) pairs(nodes int) int64 {
	switch {
	case c.nodes != nil:
		return int64(len(c.nodes))
	case c.next:
		return int64(nodes)
	}
	return int64(nodes) * int64(nodes-1)
}

// each calls yield with the nodes of each cable.
func (c *cablePlan) each(nodes int, yield func(i, j int)) {
	switch {
	case c.nodes != nil:
		for _, p := range c.nodes {
			if p[0] < nodes && p[1] < nodes {
				yield(p[0], p[1])
			}
		}
	case c.next:
		for i := range nodes {
			yield(i, (i+1)%nodes)
		}
	default:
		for i := range nodes {
			for j := range nodes {
				if i != j {
					yield(i, j)
				}
			}
		}
	}
}
