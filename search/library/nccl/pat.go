package nccl

import (
	"math"

	"github.com/colltune/colltune/topologies"
)

// pat is a system with the algorithm of that name: it sends along log2(n) trees at once, each over
// a part of the ranks, and aggregates messages as far as buffers allow (Jeaugey 2025). NCCL offers
// it from 2.23 on, to all-gathers and reduce-scatters of nodes with one GPU each.
type pat struct{ *System }

// does reports whether NCCL offers it for a collective.
func (s pat) does(collective string) bool {
	return (collective == "allgather" || collective == "reducescatter") && s.fork == nil && s.nodes > 1 && s.n == s.nodes
}

const (
	patShare = 0.75 // of the bus bandwidth
	patBase  = 8    // us
	patHop   = 14   // us between nodes
	patHops  = 3.5  // hops that overlap
	patRank  = 2.8  // us for each rank's message
)

func (s pat) bandwidth() float64 {
	return patShare * s.busBandwidth(s.graph.tree)
}

// steps is what the messages take beyond their bytes, in microseconds.
func (s pat) steps() float64 {
	return math.Floor(math.Log2(float64(s.n)))*patHop/patHops + patRank*float64(s.n)
}

// clock returns the time as the library itself counts it, in microseconds, with the
// launch of programs here: no measurement was at hand.
func (s pat) clock(bytes int64) float64 {
	return float64(s.t.Protocols[topologies.Simple].Launch) + s.steps() + float64(bytes)/(1000*s.bandwidth())
}
