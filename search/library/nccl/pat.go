package nccl

import "github.com/colltune/colltune/topologies"

// PAT sends along log2(n) trees at once, each over a part of the ranks, and aggregates messages as far
// as buffers allow (Jeaugey 2025). NCCL has it from 2.23 on, for all-gathers and reduce-scatters of
// nodes with one GPU each.
const (
	patShare = 0.75 // of the bus bandwidth
	patBase  = 8    // us
	patHop   = 14   // us between nodes
	patHops  = 3.5  // hops that overlap
	patRank  = 2.8  // us for each rank's message
)

// patClock returns the time as the library itself counts it, in microseconds, with the
// launch of programs here: no measurement was at hand.
func (s *System) patClock(c Call) float64 {
	e := s.tuning.rows[c.Collective][PAT][topologies.Simple]
	return float64(s.t.Protocols[topologies.Simple].Launch) + float64(e.latency) - patBase + float64(c.Bytes)/(1000*float64(e.bandwidth))
}
