package nccl

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/internal/units"
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
	joined   bool // GPUs of a node reach each other by NVLink or xGMI alone
	nvlink   bool // no PCIe between GPUs of a node, or none that they need
	graph    graph
	release  *Release
	tuning   *Tuning
	fork     Fork // nil: NCCL itself
}

// graph is what the library's search finds: channels, and the speed of each
// inside a node and between nodes.
type graph struct {
	channels     int
	intra, inter float64 // GB/s a channel
	tree         float64 // the same of a tree's inside a node
	plain        bool    // trees enter and leave a node by one GPU; otherwise second children by a second
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
	s.tuning = s.release.Tune(s.Communicator())
	if fork != nil {
		s.fork = fork(s)
	}
	return s
}

// counted is a link's bandwidth as the library counts it, in GB/s: its own
// figure for each NVLink or xGMI generation, below what the wires carry. Between GPUs that meet at a
// processor of Intel's, PCIe carries a sixth more than their data (INTEL_P2P_OVERHEAD).
func (s *System) counted(e topologies.Edge) float64 {
	w := cmp.Or(e.Counted, e.Bandwidth).GBps()
	switch {
	case e.Kind == topologies.NVLink:
		return w * s.arch.nvlink
	case e.Kind == topologies.XGMI && s.arch.xgmi > 0:
		return s.arch.xgmi * float64(e.Count)
	case e.Kind == topologies.PCIe && s.t.CPU != "amd" && s.t.CPU != "arm" && s.t.CPU != "power" && s.atProcessor(e):
		return w / intelOverhead
	}
	return w
}

// intelOverhead is what NCCL counts of PCIe for each byte between GPUs that meet at a processor of
// Intel's.
const intelOverhead = 1.2

// atProcessor reports whether an edge joins a GPU to a processor, and not to a PCIe switch, which
// PCIe joins to another.
func (s *System) atProcessor(e topologies.Edge) bool {
	at := max(e.From, e.To)
	return s.t.Vertices[at].Kind == topologies.Switch && !slices.ContainsFunc(s.t.Out(at), func(i int32) bool {
		up := s.t.Edges[i]
		return up.Kind == topologies.PCIe && s.t.Vertices[up.To].Kind == topologies.Switch
	})
}

// slowdown is the share of the best speed so far below which the library looks
// for no more channels.
const slowdown = 0.49

// search stands in for ncclTopoCompute: of the speeds, the fastest with which channels together
// carry most. A GPU carries as many channels as the speed fits into its links, each taken for
// itself, a node as many as into its NICs, and a part of a node as many as into what joins it with
// the rest. On links from GPU to GPU rings have to exist as well.
func (s *System) search() {
	candidates := s.arch.speeds.intra
	if s.nodes > 1 {
		candidates = s.arch.speeds.inter
	}
	s.joined = s.join(accelerator)
	s.nvlink = s.joined || !slices.ContainsFunc(s.t.Edges, func(e topologies.Edge) bool { return e.Kind == topologies.PCIe })
	nics := s.nics()
	room := room{local: s.outgoing(), cuts: s.cuts()}
	if gpus := s.n / s.nodes; s.nodes > 1 && len(nics) >= gpus {
		room.leave = gpus
	}
	g := &s.graph
	g.egress, g.network = math.Inf(1), 0
	for _, links := range room.local {
		g.egress = math.Min(g.egress, sum(links))
	}
	g.network = sum(nics)
	least := 1
	if s.nvlinked() == 2 { // so that trees, which then do better, have two (ncclTopoSplitNvLink)
		least = 2
	}
	for _, speed := range candidates {
		if g.channels > 0 && speed <= slowdown*g.intra {
			break
		}
		channels := room.fits(maxChannels/2, speed)
		if s.nodes > 1 {
			channels = min(channels, fits(nics, speed))
		}
		if channels < least {
			continue
		}
		if channels = s.ringsThere(channels, int(float64(g.channels)*g.intra/speed), speed); float64(channels)*speed > float64(g.channels)*g.intra {
			g.channels, g.intra = channels, speed
		}
	}
	if g.channels == 0 { // slower than the slowest speed: one channel, as slow as it is
		g.channels, g.intra = 1, g.egress
		for _, links := range room.cuts {
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
	g.plain = s.nodes > 1 && s.arch.generation >= hopper && s.aloneAtNIC()
	g.tree = g.intra
	if s.nodes <= 2 {
		s.quicken(candidates, room)
	}
}

// nvlinked is how many parts of the first node NVLink joins, of several GPUs each, where it does not
// join all.
func (s *System) nvlinked() int {
	if s.joined {
		return 0
	}
	part, gpus := partsOf(s.t, accelerator), map[int]int{}
	for _, r := range s.t.NodeRanks(0) {
		gpus[part(r)]++
	}
	maps.DeleteFunc(gpus, func(_, n int) bool { return n == 1 })
	return len(gpus)
}

// room is the links inside nodes that channels share.
type room struct {
	local [][]float64 // of each GPU, out
	cuts  [][]float64 // out of each part of a node
	// leave is how many GPUs of a node channels leave it by in turn, as many as there are of both
	// GPUs and NICs: the last GPU of a channel needs no link for it. 0: none do.
	leave  int
	oneWay bool // channels cross cuts one way, by turns
}

// fits is how many channels of a speed, of at most so many, the links carry.
func (m *room) fits(channels int, speed float64) int {
	for _, links := range m.cuts {
		n := fits(links, speed)
		if m.oneWay {
			n *= 2
		}
		channels = min(channels, n)
	}
	for _, links := range m.local {
		n := fits(links, speed)
		if m.leave > 1 {
			n += n / (m.leave - 1)
		}
		channels = min(channels, n)
	}
	return channels
}

// quicken looks for a faster speed of trees inside a node. Of what a tree of two nodes moves there,
// only half has to cross over; trees do not return to the GPU that they start from, and cross
// between parts of a node one way. On a single node that is found where there are two GPUs, or two
// such parts.
func (s *System) quicken(speeds []float64, room room) {
	g := &s.graph
	gpus, most := s.n/s.nodes, 2*g.inter
	if s.nodes == 1 {
		if gpus != 2 && s.nvlinked() != 2 {
			return
		}
		most = math.Inf(1)
	}
	if !g.plain && !s.direct() || gpus == 2 {
		room.leave = gpus
	}
	room.oneWay = true
	for _, speed := range slices.Backward(speeds) {
		if speed <= g.tree {
			continue
		}
		if g.tree >= most || room.fits(g.channels, speed) < g.channels {
			return
		}
		g.tree = speed
	}
}

// ringsThere is the most rings, of at most so many and more than some that would not do, that a
// node of links from GPU to GPU has, where each takes a speed of the links it passes (ncclTopoSearchRec
// backtracks over orders).
func (s *System) ringsThere(channels, few int, speed float64) int {
	if s.nodes > 1 || channels <= few || !s.direct() {
		return channels
	}
	links := s.t.Clone()
	for i := range links.Edges {
		e := &links.Edges[i]
		e.Count = min(int(s.counted(*e)/speed), maxChannels)
		e.Bandwidth = units.Bandwidth(e.Count)
	}
	links.Edges = slices.DeleteFunc(links.Edges, func(e topologies.Edge) bool { return e.Count == 0 })
	for ; channels > few; channels-- {
		var none *rings.NoRingError
		if _, err := rings.Find(context.Background(), nil, links, rings.Options{Count: channels, NoSolver: true}); !errors.As(err, &none) {
			return channels
		}
	}
	return channels
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

// join reports whether edges of a kind join all GPUs of each node.
func (s *System) join(kind func(topologies.Edge) bool) bool {
	part := partsOf(s.t, kind)
	for node := range s.nodes {
		ranks := s.t.NodeRanks(node)
		if slices.ContainsFunc(ranks, func(r int) bool { return part(r) != part(ranks[0]) }) {
			return false
		}
	}
	return true
}

// direct reports whether a node's GPUs are joined by links from GPU to GPU alone.
func (s *System) direct() bool {
	return s.joined && !s.switched() && !slices.ContainsFunc(s.t.Edges, func(e topologies.Edge) bool { return e.Kind == topologies.XGMI })
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

// linksOf lists the bandwidths of a GPU's links inside the node; where GPUs reach each other by
// NVLink or xGMI, of those alone.
func (s *System) linksOf(rank int) (links []float64) {
	for _, e := range s.t.Out(rank) {
		if edge := s.t.Edges[e]; accelerator(edge) || !s.joined && edge.Kind != topologies.Net {
			links = append(links, s.counted(edge))
		}
	}
	return links
}

func accelerator(e topologies.Edge) bool {
	return e.Kind == topologies.NVLink || e.Kind == topologies.XGMI
}

// cuts lists what joins parts of a node that have GPUs with the rest of it, and each ring has to
// cross: links between processors, and those of GPUs that NVLink joins to each other but not to
// all. There are none where GPUs reach all others by NVLink or xGMI.
func (s *System) cuts() (all [][]float64) {
	if s.joined {
		return nil
	}
	for _, joins := range []func(topologies.Edge) bool{
		func(e topologies.Edge) bool { return e.Kind != topologies.Host && e.Kind != topologies.Net },
		accelerator,
	} {
		part := partsOf(s.t, joins)
		links := map[int][]float64{}
		for _, e := range s.t.Edges {
			if e.Kind != topologies.Net && part(e.From) != part(e.To) {
				links[part(e.From)] = append(links[part(e.From)], s.counted(e))
			}
		}
		gpus := map[int]bool{}
		for r := range s.t.Ranks {
			gpus[part(r)] = true
		}
		if len(gpus) == s.nodes { // one part of each node has all of them
			continue
		}
		for r := range s.t.Ranks {
			if w := links[part(r)]; w != nil {
				all = append(all, w)
				delete(links, part(r))
			}
		}
	}
	return all
}

// partsOf returns the part of a vertex, of those that edges of a kind join: named by one of its vertices.
func partsOf(t *topologies.Topology, joins func(topologies.Edge) bool) func(v int) int {
	part := make([]int, len(t.Vertices))
	for v := range part {
		part[v] = v
	}
	find := func(v int) int {
		for part[v] != v {
			v = part[v]
		}
		return v
	}
	for _, e := range t.Edges {
		if joins(e) {
			part[find(e.From)] = find(e.To)
		}
	}
	return find
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

// aloneAtNIC reports whether some GPU of the first node is the only one that is near a NIC, so that
// no second GPU can take a tree's second child by the same.
func (s *System) aloneAtNIC() bool {
	for v, vertex := range s.t.Vertices {
		if vertex.Kind != topologies.NIC || vertex.Node != 0 {
			continue
		}
		if slices.ContainsFunc(s.t.In(v), func(e int32) bool { return s.t.Vertices[s.t.Edges[e].From].Kind == topologies.Switch }) {
			return false // at a processor, as near to several GPUs
		}
		if len(NearNIC(s.t, v)) == 1 {
			return true
		}
	}
	return false
}

// NearNIC lists the GPUs whose own links to a NIC, a vertex, are the widest.
func NearNIC(t *topologies.Topology, nic int) (gpus []int) {
	widest := units.Bandwidth(0)
	for _, i := range t.In(nic) {
		switch e := t.Edges[i]; {
		case t.Vertices[e.From].Kind != topologies.GPU:
		case e.Bandwidth > widest:
			gpus, widest = []int{e.From}, e.Bandwidth
		case e.Bandwidth == widest:
			gpus = append(gpus, e.From)
		}
	}
	return gpus
}

// switched reports whether the GPUs of a node meet at a switch; where NVLink or xGMI joins them, at
// one of theirs.
func (s *System) switched() bool {
	return slices.ContainsFunc(s.t.Edges, func(e topologies.Edge) bool {
		return s.t.Vertices[e.To].Kind == topologies.Switch && (accelerator(e) || !s.joined)
	})
}
