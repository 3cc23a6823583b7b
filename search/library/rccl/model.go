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
	tuning  *tuning
	files   bool // takes MSCCL files (the option mscclEnabled); 56 does too, but none are for 16 ranks
}

// nodes are the nodes of the catalogue, with the numbers that they have in RCCL.
var nodes = []node{
	{"cdna3", 8, false, 28, 0, 0, mi300X, true},       // 79
	{"cdna3", 8, true, 64, 0, 0, mi300X, false},       // 81
	{"cdna2", 8, false, 4, 0, 0, anyNode, false},      // 73
	{"cdna2", 8, true, 8, 0, 0, frontiers, false},     // 74
	{"cdna2", 16, false, 6, 0, 2200008, mi250, false}, // 56
	{"cdna2", 16, true, 32, 161.4, 0, mi250s, false},  // 59
}

// threads is the number of threads of a threadblock, whichever the protocol.
const threads = 256

// extra is what a call of RCCL's own takes beyond the launch of a program, in
// microseconds: fitted to its all-reduces and all-gathers on 8 MI300X, up to 1 MiB. RCCL
// itself counts 12 and 17 for a call (base), and programs there launch in 5.6 and 6.3.
var extra = llSimple{3.5, 10}

// model is RCCL's model of a system.
type model struct {
	node
	system   *nccl.System
	channels int
}

// NewSystem returns a topology as a release of RCCL sees it.
func NewSystem(t *topologies.Topology, _ *Release) *nccl.System {
	return nccl.NewSystem(t, nil, newModel)
}

// newModel returns RCCL's model of a system. One of a node that RCCL does not know has the graph's
// channels, as RCCL then searches as NCCL does.
func newModel(s *nccl.System) nccl.Fork {
	m := &model{node: node{rings: s.Channels(), tuning: anyNode}, system: s}
	arch := s.Topology().Arch
	if s.XGMI() == nccl.XGMIOfMI300 {
		arch = "cdna3" // 2.21.5 has no cdna4
	}
	for _, n := range nodes {
		if n.arch == arch && n.gpus*s.Nodes() == s.Ranks() && n.several == (s.Nodes() > 1) {
			m.node = n
		}
	}
	if m.bus == 0 {
		m.bus = s.Egress()
	}
	m.channels = m.copied()
	return m
}

// Channels is how many rings there are, with their copies.
func (m *model) Channels() int { return m.channels }

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

// Time is RCCL's estimate, in microseconds: latency, and bytes over bandwidth. Infinite where RCCL rules
// the pair out.
func (m *model) Time(a nccl.Algorithm, p topologies.Proto, collective string, bytes int64) float64 {
	if p == topologies.LL128 || a.Simple {
		return math.Inf(1)
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
			if collective == "allreduce" {
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
