package nccl

import (
	"math"

	"github.com/colltune/colltune/topologies"
)

// PAT sends along log2(n) trees at once, each over a part of the ranks, and aggregates
// messages as far as buffers allow (Jeaugey 2025). NCCL offers it from 2.23 on, to
// all-gathers and reduce-scatters of nodes with one GPU each.
func (s *System) pat(collective string) bool {
	return (collective == "allgather" || collective == "reducescatter") && s.fork == nil && s.nodes > 1 && s.n == s.nodes
}

const (
	patShare = 0.75 // of the bus bandwidth
	patBase  = 8    // us
	patHop   = 14   // us between nodes
	patHops  = 3.5  // hops that overlap
	patRank  = 2.8  // us for each rank's message
)

func (s *System) patBandwidth(topologies.Proto, string) float64 {
	return patShare * s.busBandwidth(s.graph.tree)
}

// patSteps is what the messages take beyond their bytes, in microseconds.
func (s *System) patSteps() float64 {
	return math.Floor(math.Log2(float64(s.n)))*patHop/patHops + patRank*float64(s.n)
}

// patClock returns the time as the library itself counts it, in microseconds, with the
// launch of programs here: no measurement was at hand.
func (s *System) patClock(bytes int64) float64 {
	return float64(s.t.Protocols[topologies.Simple].Launch) + s.patSteps() + float64(bytes)/(1000*s.patBandwidth(topologies.Simple, ""))
}
