package nccl

import (
	"cmp"

	"github.com/colltune/colltune/topologies"
)

// Fork is a library made of NCCL, such as RCCL, which sees a system as NCCL does and chooses
// otherwise. Times are in microseconds.
type Fork interface {
	// Before are what it takes for a call before its own algorithms, the first first, with programs under
	// the protocols that are allowed.
	Before(c Call, f Forced, allowed func(topologies.Proto) bool) []Choice
	// Channels is how many rings and trees have for a call at most, all copies counted.
	Channels(a Algorithm, p topologies.Proto, collective string, bytes int64) int
	Threads() int // of a threadblock
	// Time is its own estimate of a call; infinite where it rules the pair out.
	Time(a Algorithm, p topologies.Proto, collective string, bytes int64) float64
	// Only is the protocol that a call has whatever the estimates; ok is false where they say.
	Only(collective string, bytes int64) (_ topologies.Proto, ok bool)
	// Tile is the chunk, in bytes, that it cuts a channel's part of a call into; 0 for that
	// of its rings.
	Tile(a Algorithm, p topologies.Proto, channels int, bytes int64) int64
	// Extra is what its call takes beyond the same instructions, run as a program.
	Extra(p topologies.Proto) float64
}

// Algorithm is what a fork has to know of an algorithm of NCCL's.
type Algorithm struct {
	Tree    bool // up and down
	InSteps bool // Simple moves what one slot holds at a time, not four
	Simple  bool // runs with Simple alone
}

// Call is a collective of a size, in place or not.
type Call struct {
	Collective string
	InPlace    bool
	Bytes      int64
	Op, DType  string // empty: sum, f32
	Registered Registered
}

func (c Call) op() string    { return cmp.Or(c.Op, "sum") }
func (c Call) dtype() string { return cmp.Or(c.DType, "f32") }

// Topology, Ranks and Nodes are the system's.
func (s *System) Topology() *topologies.Topology { return s.t }
func (s *System) Ranks() int                     { return s.n }
func (s *System) Nodes() int                     { return s.nodes }

// RingSteps is how many parts of a call each rank sends in a ring.
func (s *System) RingSteps(collective string) float64 {
	return float64(s.tuning.steps(collective))
}

// NetOverhead is what a processor takes to post a message to the network, in microseconds.
func (s *System) NetOverhead(p topologies.Proto) float64 { return netOverhead(s.t.CPU, p) }

// OnLinks reports whether no PCIe joins GPUs of a node.
func (s *System) OnLinks() bool { return s.nvlink }

// Channels is how many channels the search of the graph finds.
func (s *System) Channels() int { return s.graph.channels }

// XGMI is what RCCL counts of an xGMI link, in GB/s; 0: what the topology says.
func (s *System) XGMI() float64 { return s.arch.xgmi }

// Egress is what the links of the GPU with most carry together inside its node, in GB/s.
func (s *System) Egress() (most float64) {
	for rank := range s.t.Ranks {
		most = max(most, sum(s.linksOf(rank)))
	}
	return most
}

// SendsAndReceives is a choice of the system's sends and receives, in which each rank sends one of a number
// of parts of a call to each other.
func (s *System) SendsAndReceives(parts int, bytes int64, f Forced) Choice {
	return pointToPoint{s}.choice(traffic{s.n - 1, parts}, bytes, f)
}
