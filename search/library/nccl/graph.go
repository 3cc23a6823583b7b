package nccl

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// maxChannels is NCCL's MAXCHANNELS; its search looks for half as many.
const maxChannels = 64

// speeds a channel may have, in GB/s, by architecture: NCCL tries them from the
// fastest (graph/search.cc, speedArrayIntra and speedArrayInter).
type speeds struct{ intra, inter []float64 }

var (
	speedsOlder = speeds{
		intra: []float64{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3},
		inter: []float64{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, .24, .12},
	}
	speedsHopper = speeds{
		intra: []float64{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3},
		inter: []float64{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12},
	}
	speedsBlackwell = speeds{
		intra: []float64{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18},
		inter: []float64{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12},
	}
)

// System is a topology as the library sees it.
type System struct {
	t        *topologies.Topology
	n, nodes int
	arch     arch
	nvlink   bool // no PCIe between GPUs of a node
	graph    graph
	release  *Release
	fork     Fork // nil: NCCL itself
}

// graph is what the library's search finds: channels, and the speed of each
// inside a node and between nodes.
type graph struct {
	channels     int
	intra, inter float64 // GB/s a channel
	tree         float64 // the same of a tree's inside a node
	same         bool    // all channels go the same way
	ways         int     // rings that differ in the links or NICs they use
	egress       float64 // GB/s out of a GPU, inside its node, as the library counts
	network      float64 // GB/s out of a node
}

// NewSystem returns a topology as a release of NCCL sees it, nil being the newest, or a fork of it;
// nil: NCCL itself.
func NewSystem(t *topologies.Topology, r *Release, fork func(*System) Fork) *System {
	s := &System{t: t, release: r.orNewest(), n: len(t.Ranks), nodes: t.Nodes, arch: archOf(t.Arch), nvlink: true}
	s.search()
	if fork != nil {
		s.fork = fork(s)
	}
	return s
}

// counted is a link's bandwidth as the library counts it, in GB/s: its own
// figure for each NVLink or xGMI generation, below what the wires carry.
func (s *System) counted(e topologies.Edge) float64 {
	w := cmp.Or(e.Counted, e.Bandwidth).GBps()
	switch e.Kind {
	case topologies.NVLink:
		return w * s.arch.nvlink
	case topologies.XGMI:
		if s.arch.xgmi > 0 {
			return s.arch.xgmi * float64(e.Count)
		}
	}
	return w
}

// slowdown is the share of the best speed so far below which the library looks
// for no more channels.
const slowdown = 0.49

// search stands in for ncclTopoCompute: of the speeds, the fastest with which
// channels together carry most. A GPU carries as many channels as the speed
// fits into its links, each taken for itself; two sockets as many as it fits into
// what joins them, a node as many as into its NICs.
func (s *System) search() {
	table := s.arch.speeds
	candidates := table.intra
	if s.nodes > 1 {
		candidates = table.inter
	}
	local := s.outgoing()
	sockets := s.betweenSockets()
	nics := s.nics()
	g := &s.graph
	g.egress, g.network = math.Inf(1), 0
	for _, links := range local {
		g.egress = math.Min(g.egress, sum(links))
	}
	g.network = sum(nics)
	for _, speed := range candidates {
		if g.channels > 0 && speed <= slowdown*g.intra {
			break
		}
		channels := maxChannels / 2
		for _, links := range slices.Concat(local, sockets) {
			channels = min(channels, fits(links, speed))
		}
		if s.nodes > 1 {
			channels = min(channels, fits(nics, speed))
		}
		if float64(channels)*speed > float64(g.channels)*g.intra {
			g.channels, g.intra = channels, speed
		}
	}
	if g.channels == 0 { // slower than the slowest speed: one channel, as slow as it is
		g.channels, g.intra = 1, g.egress
		for _, links := range sockets {
			g.intra = math.Min(g.intra, sum(links))
		}
		if s.nodes > 1 {
			g.intra = math.Min(g.intra, g.network)
		}
	}
	g.inter = g.intra
	g.ways = g.channels
	g.same = s.nodes == 1 && s.switched() || s.nodes > 1 && len(nics) == 1
	if g.same {
		g.ways = 1
	}
	if s.nodes > 1 {
		g.ways = min(len(nics), s.n/s.nodes)
	}
	// ncclTopoDupChannels.
	if g.intra >= 25 && (s.arch.generation <= ampere || g.intra >= 50 || g.channels <= 4) {
		g.channels, g.intra, g.inter = 2*g.channels, g.intra/2, g.inter/2
	}
	g.tree = g.intra
	if s.nodes == 2 {
		s.quicken(candidates, local)
	}
}

// quicken looks for a faster speed of trees inside a node: of what a tree of two
// nodes moves there, only half has to cross over.
func (s *System) quicken(speeds []float64, local [][]float64) {
	g := &s.graph
	for _, speed := range slices.Backward(speeds) {
		if speed <= g.tree {
			continue
		}
		if g.tree >= 2*g.inter || slices.ContainsFunc(local, func(links []float64) bool { return fits(links, speed) < g.channels }) {
			return
		}
		g.tree = speed
	}
}

func sum(links []float64) (all float64) {
	for _, w := range links {
		all += w
	}
	return all
}

func fits(links []float64, speed float64) int {
	n := 0
	for _, w := range links {
		n += min(int(w/speed), maxChannels)
	}
	return n
}

// outgoing lists, for each GPU that has any, the bandwidths of its links inside
// the node.
func (s *System) outgoing() (all [][]float64) {
	for r := range s.t.Ranks {
		if links := s.linksOf(r); len(links) > 0 {
			all = append(all, links)
		}
	}
	return all
}

// linksOf lists the bandwidths of a GPU's links inside the node.
func (s *System) linksOf(rank int) (links []float64) {
	for _, e := range s.t.Out(rank) {
		edge := s.t.Edges[e]
		if edge.Kind == topologies.Net {
			continue
		}
		if edge.Kind == topologies.PCIe {
			s.nvlink = false
		}
		links = append(links, s.counted(edge))
	}
	return links
}

// betweenSockets lists, for each part of a node that only links between its
// processors join with the rest, and that has GPUs, the bandwidths of those
// links: every ring crosses them once.
func (s *System) betweenSockets() (all [][]float64) {
	part := make([]int, len(s.t.Vertices))
	for v := range part {
		part[v] = v
	}
	var find func(v int) int
	find = func(v int) int {
		if part[v] != v {
			part[v] = find(part[v])
		}
		return part[v]
	}
	for _, e := range s.t.Edges {
		if e.Kind != topologies.Host && e.Kind != topologies.Net {
			part[find(e.From)] = find(e.To)
		}
	}
	links := map[int][]float64{}
	for _, e := range s.t.Edges {
		if e.Kind == topologies.Host && find(e.From) != find(e.To) {
			links[find(e.From)] = append(links[find(e.From)], s.counted(e))
		}
	}
	parts := map[int]bool{}
	for r := range s.t.Ranks {
		if p := find(r); !parts[p] {
			parts[p] = true
			if w := links[p]; w != nil {
				all = append(all, w)
			}
		}
	}
	if len(parts) == 1 {
		return nil // no ring crosses
	}
	return all
}

// nics lists the bandwidths of the NICs of the node that has least, out of the
// node.
func (s *System) nics() []float64 {
	nodes := make([][]float64, s.nodes)
	sums := make([]float64, s.nodes)
	for _, e := range s.t.Edges {
		from := s.t.Vertices[e.From]
		if out := s.t.Vertices[e.To].Kind == topologies.Fabric || s.t.Vertices[e.To].Node != from.Node; out && from.Node >= 0 {
			nodes[from.Node] = append(nodes[from.Node], s.counted(e))
			sums[from.Node] += s.counted(e)
		}
	}
	least := 0
	for node := range nodes {
		if sums[node] < sums[least] {
			least = node
		}
	}
	return nodes[least]
}

// switched reports whether the GPUs of a node meet at a switch.
func (s *System) switched() bool {
	for _, v := range s.t.Vertices {
		if v.Kind == topologies.Switch {
			return true
		}
	}
	return false
}
