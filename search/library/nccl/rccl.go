package nccl

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/topologies"
)

// rcclNode is a kind of node that RCCL knows by its links and NICs, with rings listed for
// it (graph/rome_models.cc).
type rcclNode struct {
	arch    string  // as a topology names it
	gpus    int     // of a node, all of them
	several bool    // nodes
	rings   int     // channels before they are copied
	bus     float64 // GB/s; 0: what the links of a GPU carry together
	treesTo int64   // bytes up to which each all-reduce is a tree, and above which each is a ring; 0: by time
	tuning  *rcclTuning
	files   bool // takes MSCCL files (the option mscclEnabled); 56 does too, but none are for 16 ranks
}

// rcclNodes are the nodes of the catalogue, with the numbers that they have in RCCL.
var rcclNodes = []rcclNode{
	{"cdna3", 8, false, 28, 0, 0, rcclMI300X, true},       // 79
	{"cdna3", 8, true, 64, 0, 0, rcclMI300X, false},       // 81
	{"cdna2", 8, false, 4, 0, 0, rcclAny, false},          // 73
	{"cdna2", 8, true, 8, 0, 0, rcclFrontiers, false},     // 74
	{"cdna2", 16, false, 6, 0, 2200008, rcclMI250, false}, // 56
	{"cdna2", 16, true, 32, 161.4, 0, rcclMI250s, false},  // 59
}

// rcclThreads is the number of threads of a threadblock, whichever the protocol.
const rcclThreads = 256

// rcclExtra is what a call of RCCL's own takes beyond the launch of a program, in
// microseconds: fitted to its all-reduces and all-gathers on 8 MI300X, up to 1 MiB. RCCL
// itself counts 12 and 17 for a call (rcclBase), and programs there launch in 5.6 and 6.3.
var rcclExtra = llSimple{3.5, 10}

// rccl is RCCL's model of a system.
type rccl struct {
	rcclNode
	channels int
}

// newRCCL returns RCCL's model of a system whose graph is known. One of a node that RCCL
// does not know has the graph's channels, as RCCL then searches as NCCL does.
func newRCCL(s *system) *rccl {
	r := &rccl{rcclNode: rcclNode{rings: s.graph.channels, tuning: rcclAny}}
	arch := s.t.Arch
	if s.arch.xgmi == xgmiMI300 {
		arch = "cdna3" // 2.21.5 has no cdna4
	}
	for _, n := range rcclNodes {
		if n.arch == arch && n.gpus*s.nodes == s.n && n.several == (s.nodes > 1) {
			r.rcclNode = n
		}
	}
	if r.bus == 0 {
		for rank := range s.t.Ranks {
			r.bus = math.Max(r.bus, sum(s.linksOf(rank)))
		}
	}
	r.channels = r.copied(s)
	return r
}

// copied is how many channels there are once each ring has been copied, at least once
// where there is room (graph/connect.cc; init.cc has the numbers of copies).
func (r *rccl) copied(s *system) int {
	most, copies := 32, 2
	switch mi300 := s.arch.xgmi == xgmiMI300; {
	case mi300 && s.nodes == 1:
		most = 128
	case mi300:
		most = 64
	case s.t.Arch == "cdna2" && s.nodes == 1:
		copies = 4
	}
	return min(most, max(r.rings, min(most/r.rings, copies)*r.rings))
}

// time is RCCL's estimate: latency, and bytes over bandwidth. Infinite where RCCL rules
// the pair out.
func (r *rccl) time(s *system, a *algorithm, p topologies.Proto, collective string, bytes int64) float64 {
	if p == topologies.LL128 || a.simple {
		return math.Inf(1)
	}
	whole := s.arch.xgmi == xgmiMI300 && s.nodes == 1
	if r.treesTo > 0 && collective == "allreduce" {
		if tree := bytes <= r.treesTo; tree != a.tree || tree != (p == topologies.LL) {
			return math.Inf(1)
		}
	}
	row, several := &r.tuning.ring, min(max(s.nodes-2, 0), 1)
	if a.tree {
		row = &r.tuning.tree
	}
	inside, across := row.inside.of(p), row.across.of(p)
	if !s.nvlink {
		inside = rcclPCI.of(p)
	}
	bw, latency := r.bus*row.share[several].of(p), rcclBase.of(p)
	atSize := row.atSize[rcclColumn(p)][min(max(bits.Len64(uint64(bytes>>6)), 1), 27)-1]
	switch steps, nodes := s.ringSteps(collective), float64(s.nodes); {
	case a.tree && whole && p == topologies.Simple:
		return math.Inf(1)
	case a.tree:
		bw *= 0.5 * atSize
		latency += 2 * ((float64(s.n)/nodes-1)*inside + float64(bits.Len(uint(s.nodes))-1)*across)
	case collective == "broadcast" || collective == "reduce":
		if whole && p == topologies.LL {
			bw *= 1.65
		}
		if s.nodes > 1 {
			inside = across
			bw *= atSize
		}
		bw *= float64(s.n) / steps
		latency += inside // all channels go the same way
	default:
		crossing := 0.
		if s.nodes > 1 {
			bw *= atSize
			inside = math.Max(inside, s.netOverhead(p))
			crossing = nodes - 1
			if collective == "allreduce" {
				crossing = 2 * nodes
			}
		}
		bw *= float64(s.n) / steps
		latency += (steps-crossing)*inside + crossing*across
	}
	if !(bw > 0) {
		return math.Inf(1)
	}
	return latency + float64(bytes)/(1000*bw)
}

// tile is the tile whose slices are RCCL's chunks, where they are not those of its rings; 0
// where they are. Trees and chains under Simple are cut until their channels have several
// chunks each (computeCollChunkInfo).
func (r *rccl) tile(s *system, a *algorithm, p topologies.Proto, channels int, bytes int64) int64 {
	if !a.inSteps || p != topologies.Simple {
		return 0
	}
	tile := int64(s.t.Protocols[p].Tile) / stepsACall
	chunks, depth := rcclChainChunks, int64(1)
	if a.tree {
		chunks, depth = rcclTreeChunks, int64(s.n/s.nodes+bits.Len(uint(s.nodes))-2)
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
	rcclTreeChunks  = []chunksFrom{{8, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}} // a rank on the way from root to leaf
	rcclChainChunks = []chunksFrom{{64, 256 << 10}, {32, 128 << 10}, {16, 64 << 10}, {8, 32 << 10}}
)
