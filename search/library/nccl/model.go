package nccl

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/topologies"
)

// algorithm is a row of what the library chooses among: for which collectives,
// its bandwidth and latency, and what program of ours it is.
type algorithm struct {
	ring      bool
	tree      bool                   // up and down, in chunks that are smaller for fewer bytes
	inSteps   bool                   // Simple moves what one slot holds at a time, not four
	simple    bool                   // runs with Simple alone
	switches  bool                   // the switches reduce
	name      func(s *System) string // NCCL's
	runs      func(collective string, s *System) bool
	bandwidth func(s *System, p topologies.Proto, collective string) float64 // algorithm bandwidth, GB/s
	latency   func(s *System, p topologies.Proto, collective string, bytes int64) float64
	programs  func(s *System, channels int) []Choice // the library's first
	evidence  Evidence                               // of clock
	clock     func(s *System, bytes int64) float64   // us, of what no program of ours is; nil: programs are simulated
}

// algorithms in NCCL's order: of equal times the first is taken. A tree and a
// ring of broadcast and reduce are chains here.
var algorithms = []*algorithm{
	{
		name:    named("tree"),
		tree:    true,
		inSteps: true,
		runs:    func(c string, _ *System) bool { return c == "allreduce" },
		bandwidth: func(s *System, p topologies.Proto, _ string) float64 {
			return s.treeBandwidth(p)
		},
		latency: func(s *System, p topologies.Proto, _ string, _ int64) float64 { return s.treeLatency(p) },
		programs: func(s *System, channels int) (all []Choice) {
			for _, n := range upTo(powers, min(s.graph.ways, channels/2)) {
				all = append(all, Choice{Family: "double-binary-tree", Parameters: map[string]int{"trees": n}, Channels: copies(channels, 2*n)})
			}
			return all
		},
	},
	{
		name:      named("ring"),
		ring:      true,
		runs:      func(c string, _ *System) bool { return c == "allreduce" || c == "allgather" || c == "reducescatter" },
		bandwidth: (*System).ringBandwidth,
		latency:   (*System).ringLatency,
		programs:  func(s *System, channels int) []Choice { return s.rings("ring", channels) },
	},
	{
		name:      named("ring"),
		ring:      true,
		inSteps:   true,
		runs:      func(c string, _ *System) bool { return c == "broadcast" || c == "reduce" },
		bandwidth: (*System).ringBandwidth,
		latency:   (*System).chainLatency,
		programs:  func(s *System, channels int) []Choice { return s.rings("chain", channels) },
	},
	{
		name: func(s *System) string {
			if s.nodes > 1 {
				return "nvlstree"
			}
			return "nvls"
		},
		simple:   true,
		switches: true,
		runs:     func(c string, s *System) bool { return c == "allreduce" && nvls{s}.there() },
		bandwidth: func(s *System, _ topologies.Proto, collective string) float64 {
			return nvls{s}.bandwidth() * float64(s.n) / s.RingSteps(collective)
		},
		latency: func(s *System, _ topologies.Proto, _ string, _ int64) float64 {
			return nvlsStep + 2*math.Log2(float64(s.nodes))*nvlsTreeAcross
		},
		programs: func(_ *System, channels int) []Choice {
			return []Choice{{Family: "nvls", Channels: channels, Lacks: "the switches reduce, which no instruction here does"}}
		},
		evidence: Fitted,
		clock:    func(s *System, bytes int64) float64 { return nvls{s}.clock(bytes) },
	},
	{
		name:      named("pat"),
		simple:    true,
		runs:      func(c string, s *System) bool { return pat{s}.does(c) },
		bandwidth: func(s *System, _ topologies.Proto, _ string) float64 { return pat{s}.bandwidth() },
		latency:   func(s *System, _ topologies.Proto, _ string, _ int64) float64 { return patBase + pat{s}.steps() },
		programs: func(_ *System, channels int) []Choice {
			return []Choice{{Family: "pat", Channels: channels, Lacks: "its messages aggregate several trees', which no family here does"}}
		},
		evidence: Predicted,
		clock:    func(s *System, bytes int64) float64 { return pat{s}.clock(bytes) },
	},
}

func (a *algorithm) forFork() Algorithm { return Algorithm{a.tree, a.inSteps, a.simple} }

func named(name string) func(*System) string { return func(*System) string { return name } }

// The numbers of rings that the ring family offers, and of chains and trees that
// theirs do, most first.
var (
	ringCounts = []int{8, 7, 6, 4, 3, 2, 1}
	powers     = []int{8, 4, 2, 1}
)

// upTo are those of some counts that are no more than most, and 1 at least.
func upTo(counts []int, most int) (some []int) {
	for _, n := range counts {
		if n <= max(most, 1) {
			some = append(some, n)
		}
	}
	return some
}

// rings are rings that differ in their links, as many as there are, then fewer.
// Those of the ring family share the channels evenly.
func (s *System) rings(family string, channels int) (all []Choice) {
	for _, n := range upTo(ringCounts, min(s.graph.ways, channels)) {
		if channels%n == 0 {
			all = append(all, Choice{Family: family, Parameters: map[string]int{"rings": n}, Channels: copies(channels, n)})
		}
	}
	return all
}

// time is ncclTopoGetAlgoTime: latency and bytes over bandwidth, both corrected
// for the size. Infinite where the library rules the pair out.
func (s *System) time(a *algorithm, p topologies.Proto, collective string, bytes int64) float64 {
	if s.fork != nil {
		return s.fork.Time(a.forFork(), p, collective, bytes)
	}
	bw := a.bandwidth(s, p, collective)
	if !(bw > 0) || a.simple && p != topologies.Simple {
		return math.Inf(1)
	}
	if a.tree {
		if log := bits.Len64(uint64(bytes>>6)) - 1; log >= 0 && log < 23 {
			bw *= treeCorrection[p][log]
		}
	}
	return a.latency(s, p, collective, bytes) + float64(bytes)/(1000*bw)
}

// StepsACall is how many slots a call of the ring's Simple fills.
const StepsACall = 4

// tile is the chunk that the library cuts a channel's part of a call into
// (calcCollChunking); 0 for that of its rings, which is the protocol's own.
func (s *System) tile(a *algorithm, p topologies.Proto, channels int, bytes int64) int64 {
	if s.fork != nil {
		return s.fork.Tile(a.forFork(), p, channels, bytes)
	}
	own := int64(s.t.Protocols[p].Tile)
	switch {
	case a.inSteps && p == topologies.Simple:
		return own / StepsACall
	case a.tree && p == topologies.LL128:
		gpus := float64(s.n) / float64(s.nodes)
		steps := 1 + float64(bits.Len(uint(s.nodes))-1) + 0.1*gpus
		tile := own
		for _, at := range []struct {
			chunks float64 // of each channel, for each GPU of a node
			least  int64
		}{{64, 128 << 10}, {16, 32 << 10}} {
			for tile > at.least && float64(bytes/(int64(channels)*tile)) < steps*at.chunks/gpus {
				tile /= 2
			}
		}
		if tile < own {
			return tile
		}
	}
	return 0
}

// column picks by number of nodes.
func (s *System) column() int { return min(s.nodes, 3) - 1 }

// busBandwidth is what all channels carry together, each so much inside a node.
func (s *System) busBandwidth(inside float64) float64 {
	if s.nodes > 2 {
		inside = s.graph.inter
	}
	return float64(s.graph.channels) * inside
}

// llLimit is the most LL reaches, which depends on the processors between nodes.
func (s *System) llLimit() float64 {
	row := s.arch.generation
	if s.nodes > 1 {
		row = volta
		if s.t.CPU == "amd" {
			row = ampere
		}
	}
	return llMaxBw[row][s.column()]
}

func (s *System) ringBandwidth(p topologies.Proto, collective string) float64 {
	bw := s.busBandwidth(s.graph.intra)
	switch p {
	case topologies.LL:
		bw = math.Min(s.llLimit(), bw*0.5)
	case topologies.LL128:
		bw = math.Min(bw*0.92, float64(s.graph.channels)*ringLL128PerCh[s.arch.generation][s.column()])
	}
	return bw * float64(s.n) / s.RingSteps(collective)
}

// RingSteps is how many parts of a call each rank sends in a ring.
func (s *System) RingSteps(collective string) float64 {
	switch collective {
	case "allreduce":
		return 2 * float64(s.n-1)
	case "allgather", "reducescatter":
		return float64(s.n - 1)
	}
	return float64(s.n)
}

func (s *System) treeBandwidth(p topologies.Proto) float64 {
	channels, column := float64(s.graph.channels), s.column()
	bus := s.busBandwidth(s.graph.tree)
	bw := math.Min(bus*0.92, channels*treePerCh[s.arch.generation][column])
	switch p {
	case topologies.LL:
		bw = math.Min(bw/3.8, s.llLimit())
	case topologies.LL128:
		share := 120. / 128
		if s.nodes == 1 {
			share = 7. / 9
		}
		bw = math.Min(bw*share, channels*treeLL128PerCh[s.arch.generation][column])
	}
	if s.nodes == 1 { // the pattern is a plain tree there
		bw *= 0.85
	}
	return bw * 0.5
}

// step is the library's latency of a step inside a node.
func (s *System) step(ring bool, p topologies.Proto) float64 {
	switch {
	case s.nvlink && ring:
		return nvlinkRing[p]
	case s.nvlink:
		return nvlinkTree[p]
	case ring:
		return pciRing[p]
	}
	return pciTree[p]
}

// across is the library's latency of a step between nodes.
func (s *System) across(ring bool, p topologies.Proto) float64 {
	if ring && s.n > s.nodes { // with one GPU a node, rings count as trees
		return netRing[p]
	}
	return netTree[p]
}

// NetOverhead is what a processor takes to post a message to the network.
func (s *System) NetOverhead(p topologies.Proto) float64 {
	overhead := 1.0
	if s.t.CPU == "amd" {
		overhead = 2.0
	}
	if p == topologies.Simple {
		overhead *= 3
	}
	return overhead
}

func (s *System) ringLatency(p topologies.Proto, collective string, bytes int64) float64 {
	inside, across := s.step(true, p), s.across(true, p)
	steps, crossing := s.RingSteps(collective), 0.
	if s.nodes > 1 {
		inside = math.Max(inside, s.NetOverhead(p))
		crossing = float64(s.nodes - 1)
		if collective == "allreduce" {
			crossing *= 2
		}
	}
	latency := baseRing[p] + (steps-crossing)*inside + crossing*across
	if full := bytes / int64(s.graph.channels*s.n); p == topologies.Simple && collective == "allreduce" && s.nodes > 1 && full >= 64 {
		if s.arch.generation < ampere {
			return latency * 1.9
		}
		return latency * 1.4
	}
	return latency
}

// chainLatency is the ring's for broadcast and reduce: they pipeline, and where
// all channels go the same way NCCL counts one step.
func (s *System) chainLatency(p topologies.Proto, collective string, _ int64) float64 {
	if s.graph.same {
		return baseRing[p] + s.step(true, p)
	}
	return baseRing[p] + s.RingSteps(collective)*s.step(p != topologies.Simple, p)
}

func (s *System) treeLatency(p topologies.Proto) float64 {
	gpus := math.Ceil(float64(s.n) / float64(s.nodes))
	return baseTree[p] + 2*((gpus-1)*s.step(false, p)+math.Log2(float64(s.nodes))*s.across(false, p))
}
