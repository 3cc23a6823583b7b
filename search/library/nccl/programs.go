package nccl

import (
	"math/bits"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// algorithm is a row of what the library chooses among: for which collectives, and what program of
// ours it is.
type algorithm struct {
	Algo
	chain    bool // of broadcast and reduce, whose calls are one slot
	runs     func(collective string) bool
	programs func(s *System, channels int) []Choice // the library's first
	evidence Evidence                               // of clock
	clock    func(s *System, c Call) float64        // us, of what no program of ours is; nil: programs are simulated
}

// algorithms are the rows. A tree and a ring of broadcast and reduce are chains here.
var algorithms = []*algorithm{
	{
		Algo: Tree,
		runs: allReduces,
		programs: func(s *System, channels int) (all []Choice) {
			for _, n := range upTo(powers, min(s.graph.ways, channels/2)) {
				all = append(all, Choice{Family: "double-binary-tree", Parameters: map[string]int{"trees": n}, Channels: copies(channels, 2*n)})
			}
			return all
		},
	},
	{
		Algo:     Ring,
		runs:     func(c string) bool { return allReduces(c) || gathers(c) },
		programs: func(s *System, channels int) []Choice { return s.rings("ring", channels) },
	},
	{
		Algo:     Ring,
		chain:    true,
		runs:     func(c string) bool { return c == "broadcast" || c == "reduce" },
		programs: func(s *System, channels int) []Choice { return s.rings("chain", channels) },
	},
	{
		Algo:     NVLS,
		runs:     allReduces,
		programs: switchesReduce("nvls"),
		evidence: Fitted,
		clock:    (*System).nvlsClock,
	},
	{
		Algo: NVLS,
		runs: gathers,
		programs: func(_ *System, channels int) []Choice {
			return []Choice{{Family: "nvls", Channels: channels, Lacks: "the switches reduce or copy to all, which no instruction here does"}}
		},
		evidence: Predicted,
		clock:    (*System).expectedClock,
	},
	{
		Algo:     NVLSTree,
		runs:     allReduces,
		programs: switchesReduce("nvlstree"),
		evidence: Fitted,
		clock:    (*System).nvlsClock,
	},
	{
		Algo: PAT,
		runs: gathers,
		programs: func(_ *System, channels int) []Choice {
			return []Choice{{Family: "pat", Channels: channels, Lacks: "its messages aggregate several trees', which no family here does"}}
		},
		evidence: Predicted,
		clock:    (*System).patClock,
	},
}

// expectedClock is the time that the library itself expects of NVLS, in microseconds.
func (s *System) expectedClock(c Call) float64 {
	return float64(s.tuning.US(NVLS, topologies.Simple, c))
}

func allReduces(collective string) bool { return collective == "allreduce" }

func gathers(collective string) bool {
	return collective == "allgather" || collective == "reducescatter"
}

func switchesReduce(family string) func(*System, int) []Choice {
	return func(_ *System, channels int) []Choice {
		return []Choice{{Family: family, Channels: channels, Lacks: "the switches reduce, which no instruction here does"}}
	}
}

// rowOf is the row of an algorithm for a collective, which it has.
func rowOf(a Algo, collective string) *algorithm {
	return algorithms[slices.IndexFunc(algorithms, func(row *algorithm) bool { return row.Algo == a && row.runs(collective) })]
}

// inSteps reports whether Simple moves what one slot holds at a time, not four.
func (a *algorithm) inSteps() bool { return a.Algo == Tree || a.chain }

func (a *algorithm) forFork() Algorithm {
	return Algorithm{a.Algo == Tree, a.inSteps(), a.clock != nil}
}

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
	case a.inSteps() && p == topologies.Simple:
		return own / StepsACall
	case a.Algo == Tree && p == topologies.LL128:
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
