package rccl

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// node is a kind of node that RCCL knows by its links and NICs, with rings listed for
// it (graph/rome_models.cc).
type node struct {
	arch    string  // as a topology names it
	gpus    int     // of a node, all of them
	several bool    // nodes
	rings   int     // channels before they are copied
	bus     float64 // GB/s; 0: what the links of a GPU carry together
	treesTo int64   // bytes up to which each all-reduce is a tree, and above which each is a ring; 0: by time
	tuning  *expected
	files   bool            // takes MSCCL files (the option mscclEnabled); 56 does too, but none are for 16 ranks
	since   int             // release
	ranges  map[string]upTo // of protocols, by collective; nil: by time
}

// nodes are the nodes of the catalogue, with the numbers that they have in RCCL; of several that fit, the last. MI355X
// goes by MI300X's where it has none of its own.
var nodes = []node{
	{"cdna3", 8, false, 28, 0, 0, mi300X, true, 0, nil},       // 79
	{"cdna3", 8, true, 64, 0, 0, mi300X, false, 0, nil},       // 81
	{"cdna2", 8, false, 4, 0, 0, anyNode, false, 0, nil},      // 73
	{"cdna2", 8, true, 8, 0, 0, frontiers, false, 0, nil},     // 74
	{"cdna2", 16, false, 6, 0, 2200008, mi250, false, 0, nil}, // 56
	{"cdna2", 16, true, 32, 161.4, 0, mi250s, false, 0, nil},  // 59
	{"cdna3", 8, true, 64, 0, 0, mi300s, false, 22606, mi300Ranges},
	{"cdna4", 8, true, 64, 0, 0, mi350s, false, 22606, mi350Ranges},
}

// threads is the number of threads of a threadblock, whichever the protocol.
const threads = 256

// extra is what a call of RCCL's own takes beyond the launch of a program, in
// microseconds: fitted to its all-reduces and all-gathers on 8 MI300X, up to 1 MiB. RCCL
// itself counts 12 and 17 for a call (base), and programs there launch in 5.6 and 6.3.
var extra = llSimple{3.5, 10}

// model is a release's model of a system.
type model struct {
	node
	release  *Release
	system   *nccl.System
	channels int
}

// NewSystem returns a topology as a release of RCCL sees it, nil being the newest that is released.
func NewSystem(t *topologies.Topology, r *Release) *nccl.System {
	if r == nil {
		r = newest()
	}
	return nccl.NewSystem(t, nil, func(s *nccl.System) nccl.Fork { return newModel(s, r) })
}

// newModel returns a release's model of a system. One of a node that RCCL does not know has the graph's
// channels, as RCCL then searches as NCCL does.
func newModel(s *nccl.System, r *Release) *model {
	m := &model{node: node{rings: s.Channels(), tuning: anyNode}, release: r, system: s}
	arch := s.Topology().Arch
	for _, n := range nodes {
		known := n.arch == arch || n.arch == "cdna3" && s.XGMI() == nccl.XGMIOfMI300
		if known && n.since <= r.number && n.gpus*s.Nodes() == s.Ranks() && n.several == (s.Nodes() > 1) {
			m.node = n
		}
	}
	if m.bus == 0 {
		m.bus = s.Egress()
	}
	m.channels = m.copied()
	return m
}

// Channels is how many rings there are, with their copies, or as many as RCCL's tuner says.
func (m *model) Channels(a nccl.Algorithm, p topologies.Proto, collective string, bytes int64) int {
	if row := m.tunedTo(collective, bytes); row != nil && row.names(a, p) && row.channels > 0 {
		return row.channels
	}
	return m.channels
}

// Threads is the number of threads of a threadblock.
func (m *model) Threads() int { return threads }

// Extra is what a call takes beyond a program, in microseconds.
func (m *model) Extra(p topologies.Proto) float64 { return extra.of(p) }

// copied is how many channels there are once each ring has been copied, at least once
// where there is room (graph/connect.cc; init.cc has the numbers of copies).
func (m *model) copied() int {
	most, copies := 32, 2
	switch mi300 := m.system.XGMI() == nccl.XGMIOfMI300; {
	case mi300 && m.system.Nodes() == 1:
		most = 128
	case mi300:
		most = 64
	case m.system.Topology().Arch == "cdna2" && m.system.Nodes() == 1:
		copies = 4
	}
	return min(most, max(m.rings, min(most/m.rings, copies)*m.rings))
}

// Only is the protocol that a call has whatever the estimates: as RCCL's tuner says, or the bytes (rcclUpdateCollectiveProtocol).
func (m *model) Only(collective string, bytes int64) (_ topologies.Proto, ok bool) {
	if row := m.tunedTo(collective, bytes); row != nil {
		return row.protocol, true
	}
	part := bytes
	if collective != "allreduce" {
		part /= int64(m.system.Ranks())
	}
	if m.release.direct && m.system.Nodes() == 1 && part <= llParts[llPart{m.system.Topology().Arch, collective}] {
		return topologies.LL, true
	}
	r, ok := m.ranges[collective]
	if collective == "allreduce" && m.system.Nodes() > 2 {
		r.ll128 = int64(float64(r.ll128) * rangeGrows)
	}
	switch {
	case part <= r.ll:
		return topologies.LL, ok
	case part <= r.ll128:
		return topologies.LL128, ok
	}
	return topologies.Simple, ok
}

// Time is RCCL's estimate, in microseconds: latency, and bytes over bandwidth. Infinite where RCCL rules
// the pair out, 0 where its tuner names it.
func (m *model) Time(a nccl.Algorithm, p topologies.Proto, collective string, bytes int64) float64 {
	if p == topologies.LL128 || a.Simple {
		return math.Inf(1)
	}
	if row := m.tunedTo(collective, bytes); row != nil && row.names(a, p) {
		return 0
	}
	s := m.system
	n, nodes := float64(s.Ranks()), s.Nodes()
	whole := s.XGMI() == nccl.XGMIOfMI300 && nodes == 1
	if m.treesTo > 0 && collective == "allreduce" {
		if tree := bytes <= m.treesTo; tree != a.Tree || tree != (p == topologies.LL) {
			return math.Inf(1)
		}
	}
	row, several := &m.tuning.ring, min(max(nodes-2, 0), 1)
	if a.Tree {
		row = &m.tuning.tree
	}
	inside, across := row.inside.of(p), row.across.of(p)
	if !s.OnLinks() {
		inside = pci.of(p)
	}
	bw, latency := m.bus*row.share[several].of(p), base.of(p)
	atSize := row.atSize[column(p)][min(max(bits.Len64(uint64(bytes>>6)), 1), 27)-1]
	switch steps := s.RingSteps(collective); {
	case a.Tree && whole && p == topologies.Simple:
		return math.Inf(1)
	case a.Tree:
		bw *= 0.5 * atSize
		latency += 2 * ((n/float64(nodes)-1)*inside + float64(bits.Len(uint(nodes))-1)*across)
	case collective == "broadcast" || collective == "reduce":
		if whole && p == topologies.LL {
			bw *= 1.65
		}
		if nodes > 1 {
			inside = across
			bw *= atSize
		}
		bw *= n / steps
		latency += inside // all channels go the same way
	default:
		crossing := 0.
		if nodes > 1 {
			bw *= atSize
			inside = math.Max(inside, s.NetOverhead(p))
			crossing = float64(nodes - 1)
			switch {
			case collective == "allreduce" && m.ranges != nil:
				crossing = float64(2 * (nodes - 1))
			case collective == "allreduce":
				crossing = float64(2 * nodes)
			}
		}
		bw *= n / steps
		latency += (steps-crossing)*inside + crossing*across
	}
	if !(bw > 0) {
		return math.Inf(1)
	}
	return latency + float64(bytes)/(1000*bw)
}

// Tile is the tile whose slices are RCCL's chunks, where they are not those of its rings; 0
// where they are. Trees and chains under Simple are cut until their channels have several
// chunks each (computeCollChunkInfo).
func (m *model) Tile(a nccl.Algorithm, p topologies.Proto, channels int, bytes int64) int64 {
	if !a.InSteps || p != topologies.Simple {
		return 0
	}
	s := m.system
	tile := int64(s.Topology().Protocols[p].Tile) / nccl.StepsACall
	chunks, depth := chainChunks, int64(1)
	if a.Tree {
		chunks, depth = treeChunks, int64(s.Ranks()/s.Nodes()+bits.Len(uint(s.Nodes()))-2)
	}
	for _, at := range chunks {
		for tile > at.bytes && bytes/(int64(channels)*tile) < at.chunks*depth {
			tile /= 2
		}
	}
	return 2 * tile // a call is one slice there (ProtoSimple<1, 1>), and two of a program
}

// chunksFrom says that a chunk is halved while a channel has fewer than chunks of it, and it
// is larger than bytes.
type chunksFrom struct{ chunks, bytes int64 }

var (
	treeChunks  = []chunksFrom{{8, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}} // a rank on the way from root to leaf
	chainChunks = []chunksFrom{{64, 256 << 10}, {32, 128 << 10}, {16, 64 << 10}, {8, 32 << 10}}
)
