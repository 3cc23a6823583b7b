package baseline

import (
	"math"

	"github.com/colltune/colltune/topologies"
)

// pointToPoint is the table of collectives that NCCL makes of sends and
// receives: to how many peers the busiest rank sends, and what part of the size
// each gets.
var pointToPoint = map[string]func(ranks int) traffic{
	"alltoall": func(n int) traffic { return traffic{n - 1, n} },
	"gather":   func(n int) traffic { return traffic{n - 1, n} },
	// The library has no vector forms; whoever needs one groups sends and
	// receives, whose parts are taken as equal here.
	"alltoallv":  func(n int) traffic { return traffic{n - 1, n * n} },
	"allgatherv": func(n int) traffic { return traffic{n - 1, n} },
	"gatherv":    func(n int) traffic { return traffic{n - 1, n} },
	"scatterv":   func(n int) traffic { return traffic{n - 1, n} },
	"scatter":    func(n int) traffic { return traffic{n - 1, n} },
	"alltonext":  func(int) traffic { return traffic{1, 1} },
	"sendrecv":   func(int) traffic { return traffic{1, 1} },
}

type traffic struct{ peers, parts int }

// NCCL's point-to-point settings: up to how many bytes a peer it uses LL
// (NCCL_P2P_LL_THRESHOLD), the chunks it cuts a message into (NCCL_P2P_NVL_ and
// _NET_CHUNKSIZE), its channels, and how many of them a peer gets once there
// are several nodes.
const (
	directLL        = 16384
	chunkInside     = 512 << 10
	chunkAcross     = 128 << 10
	directChannels  = 32
	channelsPerPeer = 2
)

// direct is the point-to-point form. The library has no model of it: the time
// is a launch, a step, and the bytes over the narrowest way out of a rank.
func (s *system) direct(w traffic, bytes int64) Choice {
	each := max(bytes/int64(w.parts), 1)
	c := Choice{Family: "direct", Protocol: topologies.Simple}
	if each <= directLL {
		c.Protocol = topologies.LL
	}
	chunk, most := int64(chunkInside), directChannels/w.peers
	step, bw := s.step(true, c.Protocol), s.graph.egress
	if s.nodes > 1 {
		gpus := (s.n + s.nodes - 1) / s.nodes
		chunk, most = chunkAcross, min(most, channelsPerPeer)
		if c.Protocol == topologies.Simple {
			c.TileBytes = 2 * chunkAcross // a call of Simple is two slices
		}
		step, bw = s.across(true, c.Protocol), math.Min(bw, s.graph.network/float64(gpus))
	}
	if c.Protocol == topologies.LL {
		bw /= 2
	}
	c.Channels = int(max(1, min(int64(most), (each+chunk-1)/chunk)))
	c.ModelUS = baseRing[c.Protocol] + step + float64(each)*float64(w.peers)/(1000*bw)
	return c
}
