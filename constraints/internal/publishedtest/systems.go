package publishedtest

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// builder builds a topology.
type builder struct{ t *topologies.Topology }

func newBuilder(name string, nodes, gpus int) builder {
	t := &topologies.Topology{Name: fmt.Sprintf("%s x%d", name, nodes), Nodes: nodes, Runtime: "nccl"}
	for node := range nodes {
		for g := range gpus {
			t.Ranks = append(t.Ranks, topologies.Rank{Node: node, Local: g, SMs: 80})
			t.Vertices = append(t.Vertices, topologies.Vertex{Kind: topologies.GPU, Node: node})
		}
	}
	return builder{t}
}

// vertex adds a switch of a node, or the fabric where node is -1.
func (d builder) vertex(node int) int {
	kind, name := topologies.Switch, fmt.Sprintf("switch %d", node)
	if node < 0 {
		kind, name = topologies.Fabric, "fabric"
	}
	d.t.Vertices = append(d.t.Vertices, topologies.Vertex{Kind: kind, Node: node, Name: name})
	return len(d.t.Vertices) - 1
}

func (d builder) oneWay(from, to int, gbps, us float64) {
	d.t.Edges = append(d.t.Edges, topologies.Edge{From: from, To: to, Count: 1,
		Bandwidth: units.Bandwidth(gbps * 1e9), Latency: units.Duration(us)})
}

func (d builder) link(a, b int, gbps, us float64) {
	d.oneWay(a, b, gbps, us)
	d.oneWay(b, a, gbps, us)
}

func (d builder) done() *topologies.Topology {
	slices.SortFunc(d.t.Edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return d.t
}

// The hybrid cube mesh of 8 V100: pairs with two NVLinks, and with one.
var (
	cubeDouble = [][2]int{{0, 1}, {0, 4}, {1, 3}, {2, 3}, {2, 6}, {4, 5}, {5, 7}, {6, 7}}
	cubeSingle = [][2]int{{0, 2}, {0, 3}, {1, 2}, {1, 5}, {3, 7}, {4, 6}, {4, 7}, {5, 6}}
)

// NDv2 returns TE-CCL's graph of NDv2 machines. NVLinks have 25 GB/s and 0.7 us. GPU
// 0 of each machine sends to GPU 1 of the others at 12.5 GB/s and 1.3 us: over a
// direct link for two machines, over one switch for more.
func NDv2(nodes int) *topologies.Topology {
	d := newBuilder("NDv2", nodes, 8)
	for n := range nodes {
		for _, p := range cubeDouble {
			d.link(8*n+p[0], 8*n+p[1], 50, 0.7)
		}
		for _, p := range cubeSingle {
			d.link(8*n+p[0], 8*n+p[1], 25, 0.7)
		}
	}
	switch {
	case nodes == 2:
		d.oneWay(0, 9, 12.5, 1.3)
		d.oneWay(8, 1, 12.5, 1.3)
	case nodes > 2:
		fabric := d.vertex(-1)
		for n := range nodes {
			d.oneWay(8*n, fabric, 12.5, 1.3)
			d.oneWay(fabric, 8*n+1, 12.5, 1.3)
		}
	}
	return d.done()
}

// DGX2 returns TE-CCL's graph of two DGX-2: 16 GPUs on a switch at 125 GB/s and
// 0.35 us. Every odd GPU g sends to GPU g-1 of the other chassis at 12.5 GB/s and
// 2.6 us.
func DGX2() *topologies.Topology {
	d := newBuilder("DGX-2", 2, 16)
	for n := range 2 {
		s := d.vertex(n)
		for g := range 16 {
			d.link(16*n+g, s, 125, 0.35)
			if g%2 == 1 {
				d.oneWay(16*n+g, 16*(1-n)+g-1, 12.5, 2.6)
			}
		}
	}
	return d.done()
}

// mi250 is ForestColl's adjacency of 16 GCDs, by the number of 50 GB/s links.
var mi250 = map[float64][][2]int{
	4: {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}},
	2: {{0, 4}, {3, 7}, {8, 12}, {11, 15}},
	1: {{0, 8}, {1, 5}, {1, 9}, {1, 10}, {2, 6}, {2, 9}, {2, 10}, {3, 11}, {4, 6}, {5, 6}, {5, 7}, {9, 13}, {10, 14}, {12, 14}, {13, 14}, {13, 15}},
}

// MI250 returns ForestColl's graph of nodes with 8 MI250, which are 16 GCDs. From two
// nodes on, each GCD has 16 GB/s of InfiniBand.
func MI250(nodes int) *topologies.Topology {
	d := newBuilder("MI250", nodes, 16)
	fabric := -1
	if nodes > 1 {
		fabric = d.vertex(-1)
	}
	for n := range nodes {
		for count, pairs := range mi250 {
			for _, p := range pairs {
				d.link(16*n+p[0], 16*n+p[1], 50*count, 0.7)
			}
		}
		for g := range 16 {
			if fabric >= 0 {
				d.link(16*n+g, fabric, 16, 1.3)
			}
		}
	}
	return d.done()
}

// SharedNICs returns nodes of some GPUs on a switch of 100 GB/s, of which every two
// share a NIC of 10 GB/s, so that a NIC has twice the bandwidth on its GPUs' side.
func SharedNICs(nodes, gpus int) *topologies.Topology {
	d := newBuilder("shared NICs", nodes, gpus)
	fabric := d.vertex(-1)
	for n := range nodes {
		s := d.vertex(n)
		for g := range gpus {
			d.link(n*gpus+g, s, 100, 0.5)
			if g%2 == 0 {
				d.t.Vertices = append(d.t.Vertices, topologies.Vertex{Kind: topologies.NIC, Node: n, Name: fmt.Sprintf("nic %d of node %d", g/2, n)})
				d.link(len(d.t.Vertices)-1, fabric, 10, 1)
			}
			d.link(n*gpus+g, len(d.t.Vertices)-1, 10, 1)
		}
	}
	return d.done()
}
