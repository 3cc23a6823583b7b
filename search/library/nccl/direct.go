package nccl

import (
	"cmp"
	"math"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// directs is the table of collectives that NCCL makes of sends and
// receives: to how many peers the busiest rank sends, and what part of the size
// each gets.
var directs = map[string]func(ranks int) traffic{
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

// NCCL's point-to-point settings: up to how many bytes a channel it uses LL
// (NCCL_P2P_LL_THRESHOLD), of those that a peer may have, or that it gets with Simple
// (partsBySimple); before 2.22 up to how many in all; the steps in which it sends
// with Simple (NCCL_P2P_NVL_ and _NET_CHUNKSIZE), its most channels
// (NCCL_MAX_P2P_NCHANNELS), and how many of them a peer on another node gets.
const (
	directLL        = 16 << 10
	stepInside      = 512 << 10
	stepAcross      = 128 << 10
	directChannels  = 32
	channelsPerPeer = 2
)

// parts bound how many bytes a channel is given of what goes to a peer (enqueue.cc,
// addP2pToPlan): it has as many channels as least leaves it, and more where it would
// have over most.
type parts struct{ least, most int64 }

// pointToPoint is a system that sends and receives.
type pointToPoint struct{ *System }

// choice is the point-to-point form. The library has no model of it: the time
// is a launch, a step, and the bytes over the narrowest way out of a rank.
func (s pointToPoint) choice(w traffic, bytes int64, f Forced) Choice {
	each := max(bytes/int64(w.parts), 1)
	c := Choice{Family: "direct", Protocol: topologies.Simple}
	most := s.perPeer()
	least := most // so few that peers do not share channels
	for least > 1 && least*s.n > s.channels() {
		least /= 2
	}
	step := int64(stepInside)
	if s.nodes > 1 {
		step = stepAcross
	}
	part := s.parts(step)
	bySimple := s.fork == nil && !f.Before222 && s.release.partsBySimple
	threshold := int64(directLL)
	switch {
	case bySimple:
		threshold *= min(int64(least), ceil(each, part.least))
	case s.fork == nil && !f.Before222: // RCCL 2.21.5 is from before
		threshold *= int64(most)
	}
	if each <= threshold {
		c.Protocol = topologies.LL
		step = int64(s.t.Protocols[topologies.LL].Tile) * 2 // flags are counted
	} else {
		c.TileBytes = 2 * step // a call of Simple is two slices
	}
	if !bySimple {
		part = s.parts(step)
	}
	latency, bw := float64(s.tuning.inside(Ring, c.Protocol)), s.graph.egress
	if s.nodes > 1 {
		gpus := (s.n + s.nodes - 1) / s.nodes
		latency, bw = float64(s.tuning.across(Ring, c.Protocol)), math.Min(bw, s.graph.network/float64(gpus))
	}
	if c.Protocol == topologies.LL {
		bw /= 2
	}
	c.Channels = int(min(int64(least), ceil(each, part.least)))
	for each > part.most*int64(c.Channels) && c.Channels <= most/2 && 2*c.Channels*w.peers <= s.channels() {
		c.Channels *= 2 // with more, peers share channels, and none is faster
	}
	c.TurnsUS = s.inTurns(w.peers*c.Channels, c, each/int64(c.Channels))
	c.ExtraUS = s.extra(min(w.peers, s.n/s.nodes-1), c.Protocol, c.Channels, each/int64(c.Channels), step)
	if f.Before222 && s.nodes == 1 {
		c.LeastUS = partsLeast + partLeast*float64(min(directChannels, ceil(each, stepInside/8)))
	}
	c.ModelUS = baseRing[c.Protocol] + latency + float64(each)*float64(w.peers)/(1000*bw)
	return c
}

// parts are the bounds where a protocol sends in steps of so many bytes.
func (s pointToPoint) parts(step int64) parts {
	if s.nodes > 1 {
		return parts{step / 2, step}
	}
	return parts{step / 8, step * 32}
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// inTurns returns the time of a call, in microseconds, in which channels serve a number of
// connections, of part bytes each, one after another; 0 where each has a channel. A channel
// sends and receives at once, each with threads of its own, and goes on with the next peer
// while messages are under way. The host starts those that leave the node.
func (s pointToPoint) inTurns(connections int, c Choice, part int64) float64 {
	turns := copies(connections, s.channels())
	if turns < 2 {
		return 0
	}
	p, bytes := s.t.Protocols[c.Protocol], float64(part)
	calls := math.Ceil(bytes / float64(cmp.Or(c.TileBytes, int64(p.Tile))))
	send, receive := calls*float64(p.SendCall), calls*float64(p.RecvCall)
	if p.Pass > 0 {
		passes := bytes / float64(p.Pass)
		send, receive = send+passes*float64(p.SendPass), receive+passes*float64(p.RecvPass)
	} else {
		send += calls*float64(p.SendSlice) + micros(bytes, p.SendRate)
		receive += calls*float64(p.RecvSlice) + micros(bytes, p.RecvRate)
	}
	started := connections
	if s.nodes > 1 {
		started -= connections * (s.n/s.nodes - 1) / (s.n - 1)
	}
	return float64(p.Launch) + float64(p.NetStart)*float64(started-1) + float64(turns)*max(send, receive)
}

// micros is how long bytes take at a rate, in microseconds; 0 where there is no limit.
func micros(bytes float64, rate units.Bandwidth) float64 {
	if rate == 0 {
		return 0
	}
	return bytes / rate.PerMicro()
}

// channels is how many channels sends and receives have in all.
func (s pointToPoint) channels() int {
	return powerOfTwo(min(s.tuning.Channels, directChannels))
}

// perPeer is the most channels that a peer gets: two a link where NVLinks lead to it,
// of the peer that has fewest (paths.cc, ncclTopoComputeP2pChannels).
func (s pointToPoint) perPeer() int {
	most := s.channels()
	if s.nodes > 1 {
		peer := channelsPerPeer
		for peer > 1 && peer*s.n > 4*most { // a channel copes with a few peers, not with more
			peer /= 2
		}
		return min(most, peer)
	}
	for r := range s.t.Ranks {
		most = min(most, 2*s.linksToPeer(r))
	}
	return powerOfTwo(most)
}

// linksToPeer is how many NVLinks lead from a GPU to the peer in its node that has fewest,
// directly or through a switch, and 1 where there are none to some peer.
func (s pointToPoint) linksToPeer(rank int) int {
	direct, through, peers := math.MaxInt, 0, 0
	for _, e := range s.t.Out(rank) {
		switch edge := s.t.Edges[e]; {
		case edge.Kind != topologies.NVLink:
		case s.t.Vertices[edge.To].Kind == topologies.Switch:
			through += edge.Count
		default:
			direct, peers = min(direct, edge.Count), peers+1
		}
	}
	switch {
	case through > 0:
		return through
	case peers == s.n-1:
		return direct
	}
	return 1
}

// powerOfTwo is the least that is n at least.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// extra is what the library's call takes beyond a program, for sends and receives, of part
// bytes a channel, that are cut into steps. With Simple a step is one slice there, where a
// call of a program is two.
func (s pointToPoint) extra(peers int, p topologies.Proto, channels int, part, step int64) float64 {
	if s.fork != nil {
		return 0
	}
	us := peerExtra*float64(max(peers-1, 0)) + doubleExtra*math.Log2(float64(channels))
	switch {
	case p != topologies.Simple || part > step:
	case s.nodes == 1 && s.nvlink:
		us += s.inOneSlice(part)
	default:
		us -= float64(s.t.Protocols[p].SendSlice)
	}
	return us
}

// inOneSlice is what a message of Simple takes more in one slice than in two, in microseconds:
// the receiver begins when all of it is there, but a slice's costs are paid once, and a hop
// takes what was measured.
func (s pointToPoint) inOneSlice(bytes int64) (us float64) {
	p := &s.t.Protocols[topologies.Simple]
	if second := bytes - max(bytes/2, leastSlice); second > 0 {
		us = micros(float64(second), p.RecvRate) - float64(p.SendSlice)
	}
	if hop := sliceHop[s.arch.generation]; hop > 0 {
		us += hop - float64(p.SendCall+p.RecvCall+p.SendSlice+p.RecvSlice+p.Latency)
	}
	return us
}
