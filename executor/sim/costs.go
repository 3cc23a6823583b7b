package sim

import (
	"cmp"
	"fmt"
	"math"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// costs are the costs of a program's calls with one set of knobs. Times are in microseconds,
// rates in bytes a microsecond; fields are named for the topology's constants.
type costs struct {
	proto    topologies.Proto
	launch   float64   // with the starts of connections over the network
	netRate  float64   // the most of a connection over the network; 0: no limit
	eager    float64   // the most wire bytes of a message over the network without a rendezvous
	agreed   float64   // the least time of one with a rendezvous
	latency  []float64 // by lane: sent → visible
	credit   []float64 // by lane: received → slot free at the sender
	slots    int       // messages a connection holds: calls, or Simple's slices
	dep, nop float64

	sendCall, recvCall   float64
	sendSlice, recvSlice float64
	reduceCall           float64

	tiles   int     // iterations of the tile loop
	chunk   float64 // bytes of a chunk, all tiles together
	wire    float64 // bytes on the wire for each byte of data
	packets float64 // bytes on a link inside a node for each byte on the wire
	perCall int32   // most chunks in one call

	full, last sizes // calls of a whole tile, and of the last one
}

// sizes holds the cost of a call by its number of chunks. call[0] is unused.
type sizes []call

// call is the cost of one primitive call with a given number of chunks.
type call struct {
	bytes  float64
	first  part // LL and LL128: all of it; Simple: the first slice
	second part // Simple's second slice; may be empty
	// Local work: re, and cpy.
	reduces, copies localWork
}

// localWork is the time of a call of local work without contention for the memory.
type localWork struct {
	all    float64
	passes float64 // the part of it in which bytes move
}

func (c *call) local(k kind) *localWork {
	if k == copying {
		return &c.copies
	}
	return &c.reduces
}

// part moves in one piece: a message of LL or LL128, or a slice of Simple.
type part struct {
	bytes float64
	wire  float64 // bytes on the wire
	send  float64 // unloaded time, sending
	recv  float64 // the same, receiving
	both  float64 // the same, of a call that receives and sends
	// tail is the time to receive the last pass alone, which cannot overlap with
	// its sending; tailBoth is the same in a call that receives and sends.
	tail, tailBoth float64
}

// minSlice is the smallest first slice (NCCL: stepSize / 16 of Simple).
const minSlice = 32 << 10

// maxPerCall is the largest count of one call (MSCCL_MAX_COUNT - 1).
const maxPerCall = 71

// CallChunks returns how many chunks one call moves at most: as many as a tile holds, one at
// least and 71 at most. Chunks of no bytes count as fitting.
func CallChunks(chunkBytes, tileBytes int64) int {
	if chunkBytes <= 0 {
		return maxPerCall
	}
	return int(min(max(tileBytes/chunkBytes, 1), maxPerCall))
}

// costs computes the costs. The error says which knob is out of range.
func (p *Prepared) costs(k Knobs) (*costs, error) {
	if int(k.Protocol) >= len(p.topology.Protocols) {
		return nil, fmt.Errorf("protocol %d does not exist: want one of %v", k.Protocol, topologies.AllProtocols)
	}
	c := &p.topology.Protocols[k.Protocol]
	elem := k.ElemBytes
	if elem == 0 {
		elem = 4
	}
	tile := k.TileBytes
	if tile == 0 {
		tile = int64(c.Tile)
	}
	switch {
	case !p.topology.Has(k.Protocol):
		return nil, p.topology.CheckProtocol(k.Protocol)
	case k.Bytes < 0 || k.Bytes > 1<<50:
		return nil, fmt.Errorf("size of %d bytes: want 0 to 1 PiB", k.Bytes)
	case elem < 1 || elem > 64:
		return nil, fmt.Errorf("elements of %d bytes: want 1 to 64", elem)
	case tile < 1:
		return nil, fmt.Errorf("tile of %d bytes: want at least 1", tile)
	case tile < elem:
		return nil, fmt.Errorf("tile of %d bytes: want at least an element of %d", tile, elem)
	}
	out := &costs{
		proto:    k.Protocol,
		launch:   float64(c.Launch) + float64(c.NetStart)*float64(max(p.mostNet-1, 0)),
		netRate:  c.NetRate.PerMicro(),
		eager:    float64(c.NetEager),
		agreed:   float64(c.NetRendezvous),
		slots:    c.Slots,
		dep:      float64(c.Dep),
		nop:      float64(c.Nop),
		sendCall: float64(c.SendCall), recvCall: float64(c.RecvCall),
		sendSlice: float64(c.SendSlice), recvSlice: float64(c.RecvSlice),
		reduceCall: float64(c.ReduceCall),
		wire:       c.Wire,
		packets:    max(c.Packets, 1),
	}
	if k.Protocol == topologies.Simple {
		out.slots *= 2
	}
	out.latency = make([]float64, p.sending)
	out.credit = make([]float64, p.sending)
	for i, l := range p.lanes[:p.sending] {
		way := l.latency
		if l.net {
			way += float64(c.NetLatency)
		}
		out.latency[i] = float64(c.Latency) + way
		out.credit[i] = float64(c.Credit) + way
	}
	// Elements divide evenly, rounded up; a tile is whole elements.
	elements := (k.Bytes + elem - 1) / elem
	chunk := (elements + p.loopChunks - 1) / p.loopChunks * elem
	tile = tile / elem * elem
	n := max((chunk+tile-1)/tile, 1)
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("%d bytes in tiles of %d are %d iterations: want at most %d", k.Bytes, tile, n, math.MaxInt32)
	}
	out.tiles, out.chunk = int(n), float64(chunk)
	out.perCall = int32(CallChunks(chunk, tile))
	most := min(out.perCall, p.mostCount)
	out.full = callSizes(k.Protocol, c, min(chunk, tile), most)
	out.last = callSizes(k.Protocol, c, chunk-(n-1)*tile, most)
	return out, nil
}

// callSizes lists the costs of calls of 1 to most chunks of the given bytes.
func callSizes(proto topologies.Proto, c *topologies.Protocol, chunk int64, most int32) sizes {
	all := make(sizes, most+1)
	for n := int64(1); n <= int64(most); n++ {
		bytes := chunk * n
		one := call{bytes: float64(bytes)}
		if proto == topologies.Simple {
			first := min(max((bytes+31)/32*16, minSlice), bytes)
			one.first, one.second = slice(c, first), slice(c, bytes-first)
		} else {
			one.first = message(c, bytes)
		}
		passes := 0.0
		if vector := int64(c.Threads) * 16; vector > 0 {
			passes = float64((bytes + vector - 1) / vector)
		}
		one.reduces = inPasses(passes, c.ReducePass, c.ReduceCall)
		one.copies = inPasses(passes, cmp.Or(c.CopyPass, c.ReducePass), c.ReduceCall)
		all[n] = one
	}
	return all
}

func inPasses(passes float64, pass, call units.Duration) localWork {
	moving := passes * float64(pass)
	return localWork{moving + float64(call), moving}
}

// message returns the cost of a call of LL or LL128, made of passes of the whole
// threadblock.
func message(c *topologies.Protocol, bytes int64) part {
	if bytes == 0 {
		return part{}
	}
	passes, last := 1.0, 1.0
	if pass := int64(c.Pass); pass > 0 {
		passes = float64(bytes / pass)
		if rest := bytes % pass; rest > 0 {
			last = float64(max(rest, int64(c.MinPass))) / float64(pass)
			passes += last
		}
	}
	both := c.Fused * max(float64(c.SendPass), float64(c.RecvPass))
	return part{
		bytes:    float64(bytes),
		wire:     float64(bytes) * c.Wire,
		send:     passes * float64(c.SendPass),
		recv:     passes * float64(c.RecvPass),
		both:     passes * both,
		tail:     last * float64(c.RecvPass),
		tailBoth: last * both,
	}
}

// slotsOf returns the number of messages that a connection over a lane holds. One that
// leaves the node holds as many at its receiver as at its sender.
func (c *costs) slotsOf(l *lane) int32 {
	if l.net {
		return int32(2 * c.slots)
	}
	return int32(c.slots)
}

// slice returns the cost of a slice of Simple: a copy at a rate, of at least MinCopy.
func slice(c *topologies.Protocol, bytes int64) part {
	if bytes == 0 {
		return part{}
	}
	at := func(rate float64) float64 {
		if rate == 0 {
			return 0 // no limit but that of the edges
		}
		return float64(max(bytes, int64(c.MinCopy))) / rate
	}
	s, r := at(c.SendRate.PerMicro()), at(c.RecvRate.PerMicro())
	return part{
		bytes: float64(bytes),
		wire:  float64(bytes) * c.Wire,
		send:  s,
		recv:  r,
		both:  c.Fused * max(s, r),
	}
}

func (c *costs) calls(count int32) int32 { return (count + c.perCall - 1) / c.perCall }

// chunks returns the number of chunks of the i-th call of a step of count chunks.
func (c *costs) chunks(count, i int32) int32 { return min(c.perCall, count-i*c.perCall) }

// at returns the cost table for one tile of a loop.
func (c *costs) at(tile, tiles int) sizes {
	if tile == tiles-1 {
		return c.last
	}
	return c.full
}

// load returns the flow of a part over a lane: the bytes with which it occupies the lane's
// edges, and its rate without contention.
func (c *costs) load(l *lane, wire, unloaded float64) (work, rate float64) {
	work = c.occupies(l, wire)
	if l.net && c.netRate > 0 {
		unloaded = max(unloaded, wire/c.netRate)
	}
	if l.net && wire > c.eager {
		unloaded = max(unloaded, c.agreed)
	}
	unloaded += l.message
	if unloaded <= 0 {
		return work, math.Inf(1)
	}
	return work, work / unloaded
}

// occupies returns the bytes with which a part occupies a lane's edges. A message's own
// cost counts as bytes, so that it delays the flows that share the edge.
func (c *costs) occupies(l *lane, wire float64) float64 {
	if l.inside {
		wire *= c.packets
	}
	return wire + l.extra
}

// soft returns the rate of a flow of rate r without contention, whose share of the
// narrowest edge is share: a smooth minimum of both, as measured.
func soft(r, share float64) float64 {
	x := r / share
	switch {
	case x < 1e-3:
		return r
	case x > 1e3:
		return share
	case x <= 1:
		x2 := x * x
		return r * math.Exp(-0.2*math.Log1p(x2*x2*x))
	}
	x = 1 / x
	x2 := x * x
	return share * math.Exp(-0.2*math.Log1p(x2*x2*x))
}
