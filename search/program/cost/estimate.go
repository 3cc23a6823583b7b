package cost

import (
	"math"

	"github.com/colltune/colltune/topologies"
)

// Estimate returns the expected time in microseconds of a number of instances at a size
// in bytes, with the best tile of a protocol.
func (m *Summary) Estimate(c *topologies.Protocol, bytes int64, instances int) float64 {
	least := m.Tiled(c, max(float64(c.Tile), 1), bytes, float64(instances))
	for _, tile := range c.Tiles {
		least = min(least, m.Tiled(c, max(float64(tile), 1), bytes, float64(instances)))
	}
	return least
}

// Within is the summary with at most that number of threadblocks on a GPU.
func (m *Summary) Within(threadblocks int) *Summary {
	if threadblocks == m.SMs {
		return m
	}
	of := *m
	of.SMs = threadblocks
	return &of
}

// steps is the cost of a protocol's steps in a threadblock, in µs and in µs a
// byte.
type steps struct {
	message, aByte    float64 // sent and received
	receipt, received float64 // added for work on what another threadblock left
	local, worked     float64 // copied or reduced within a rank
	whole             float64 // part of a message that has to be there before it is forwarded
}

func stepsOf(c *topologies.Protocol) steps {
	s := steps{
		message: float64(c.SendCall) + float64(c.RecvCall),
		receipt: float64(c.Dep) + float64(c.RecvCall),
		// It waits for another threadblock, and another waits for it.
		local: float64(c.ReduceCall) + float64(c.ReducePass) + 2*float64(c.Dep),
	}
	switch {
	case c.Pass > 0:
		pass, least := float64(c.Pass), float64(c.MinPass)/float64(c.Pass)
		s.message += float64(c.SendPass+c.RecvPass) * least
		s.aByte = max(float64(c.SendPass), float64(c.RecvPass)) / pass
		s.receipt += float64(c.RecvPass) * least
		s.received = float64(c.RecvPass) / pass
	case c.SendRate > 0:
		s.message += float64(c.SendSlice) + float64(c.RecvSlice)
		s.aByte = 1 / c.SendRate.PerMicro()
		s.receipt += float64(c.RecvSlice)
		s.whole = 0.5 // a slice of two
	}
	if c.RecvRate > 0 {
		s.received = 1 / c.RecvRate.PerMicro()
	}
	if c.Threads > 0 {
		s.worked = float64(c.ReducePass) / float64(c.Threads*16)
	}
	return s
}

// Tiled is the expected time with one tile.
func (m *Summary) Tiled(c *topologies.Protocol, tile float64, bytes int64, copies float64) float64 {
	chunk := float64(bytes) / float64(m.Loop) / copies
	tiles := max(math.Ceil(chunk/tile), 1)
	x := chunk / tiles // bytes of a chunk in one tile of one instance
	s := stepsOf(c)
	// A message of more than a tile takes several calls.
	calls := func(messages, chunks float64) float64 { return max(messages, chunks*x/tile) }

	net := netOf(c)
	first, forwards := 0.0, 1.0
	for i := range m.criticalPaths {
		of := &m.criticalPaths[i]
		// What sends on what it receives begins when that does, but for Simple's slices:
		// other messages wait for all bytes of those before them.
		if of.forwarded > 0 || of.messages > min(of.messages, of.stored+of.local+1) {
			forwards = max(c.Fused, 1)
		}
		chunks := float64(of.chunks) + s.whole*float64(of.forwarded)
		wire := float64(of.wire) + s.whole*float64(of.forwardedWire)
		first = max(first, float64(of.messages)*float64(c.Latency)+float64(of.net)*float64(c.NetLatency)+float64(of.latency)+(copies-1)*float64(of.occupied)+
			s.message*calls(float64(of.messages+of.queued), chunks)+x*max(wire*c.Wire*copies, chunks*s.aByte)+
			s.receipt*calls(float64(of.sums), float64(of.summed))+x*float64(of.summed)*s.received+
			s.local*float64(of.local)+x*float64(of.worked)*s.worked+
			float64(of.crossings)*net.beyond(x*float64(of.crossed)/float64(max(of.crossings, 1)), s.aByte)+
			x*float64(of.crossed)*net.whole*(m.network.wire*c.Wire+s.aByte))
	}
	shared := 1.0 // connection ends that a threadblock serves in turn, where there are fewer threadblocks than ends
	if m.Whole && forwards == 1 && float64(m.Ends)*copies > float64(m.SMs) {
		shared = 2
	}
	edge := max(m.edge, m.inside*c.Packets)
	pace := max(copies*(edge*x*c.Wire+m.messages), shared*(s.message*calls(m.calls, m.connected)+m.connected*x*s.aByte*forwards),
		m.localCalls*float64(c.ReduceCall)+m.local*x*s.worked,
		net.pace(&m.network, calls(m.network.calls, m.network.chunks), m.network.chunks*x))
	return float64(c.Launch) + float64(c.NetStart)*max(copies*float64(m.network.starts)-1, 0) + max(first, pace) + (tiles-1)*pace
}

// net is what a protocol's messages cost on connections that leave the node.
type net struct {
	c     *topologies.Protocol
	slots float64 // calls on the way before a sender waits: a FIFO at either end
	parts float64 // messages of a call: Simple's slices
	whole float64 // part of a message that has to be there before it leaves, and that did not count before
}

func netOf(c *topologies.Protocol) net {
	n := net{c: c, slots: 2 * float64(c.Slots), parts: 1, whole: 1}
	if c.Pass == 0 {
		n.parts, n.whole = 2, 0 // its slices are sent whole anyway
	}
	return n
}

// least returns the time that a call keeps its connection busy, in µs, beside the time on its
// edges.
func (n net) least(bytes float64) float64 {
	wire, us := bytes*n.c.Wire, 0.0
	if n.c.NetRate > 0 {
		us = wire / n.c.NetRate.PerMicro()
	}
	if parts := min(n.parts, max(math.Ceil(bytes/minSlice), 1)); wire/parts > float64(n.c.NetEager) {
		us = max(us, parts*float64(n.c.NetRendezvous))
	}
	return us
}

// minSlice is the least that Simple puts into the first of a call's two slices.
const minSlice = 32 << 10

// beyond returns the part of least that a threadblock's own rate, in µs a byte, does not
// cover.
func (n net) beyond(bytes, aByte float64) float64 { return max(n.least(bytes)-bytes*aByte, 0) }

// pace returns the least time of the busiest connection for a tile, in µs: each call keeps
// it busy, and no more calls are on the way than it has slots.
func (n net) pace(w *crossing, calls, bytes float64) float64 {
	if calls == 0 {
		return 0
	}
	trip := float64(n.c.Latency) + float64(n.c.Credit) + 2*(float64(n.c.NetLatency)+w.latency)
	return calls * max(n.least(bytes/calls), trip/n.slots)
}
