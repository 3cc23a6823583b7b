package nccl

import (
	"cmp"
	"math"

	"github.com/colltune/colltune/topologies"
)

// What a call of the library takes beyond the same instructions, run as a program.
const (
	// peerExtra is what each peer of the node but one adds to sends and receives, and
	// doubleExtra what each doubling of a peer's channels does, in microseconds: fitted to
	// all-to-alls over 2, 4 and 8 A100, H200 and B200 up to 4 MiB (NCCL 2.23 to 2.29).
	peerExtra   = 0.5
	doubleExtra = 0.5
	leastSlice  = 32 << 10 // of the two of a program's call of Simple
	// partsLeast and partLeast are what sends and receives in a node take at least with NCCL
	// before 2.22, in microseconds: for a call, and for each part of 64 KiB, of which each peer has
	// 32 at most. Fitted to all-to-alls over 2 to 8 A100, 768 KiB to 24 MiB, where the
	// number of peers does not matter.
	partsLeast = 12
	partLeast  = 5.4
)

// channelExtra is what each channel but one adds to a call with NCCL before 2.22, in
// microseconds: fitted to all-reduces with LL and LL128 over 4 and 8 A100, 64 KiB to 1 MiB, where
// calls of 2.8 to 2.18 (ABCI, NDv4, SXM4) grow by 1.0 to 1.3 us a channel. Those of 2.27 do not:
// since 2.22 channels share the description of their work, in the kernel's arguments.
const channelExtra = 1.15

// earlierStep is how much sooner than today each step of a ring with Simple but the first came with
// NCCL before 2.22, in microseconds: fitted to all-reduces and all-gathers over 3 to 8 A100 (SXM4) from
// 1.5 MiB, and judged on NDv4's, which come from 4.7 to 3.2 %. V100's constants are of that time.
var earlierStep = map[generation]float64{ampere: 2}

// sliceHop is what a hop of one slice of Simple takes beyond its bytes over NVLink, in
// microseconds, where a program's takes 14.5, 8.5 and 12: fitted to all-to-alls of 64 KiB to
// 16 MiB over 2, 4 and 8 A100, H200 and B200.
var sliceHop = map[generation]float64{ampere: 11, hopper: 3.5, blackwell: 4}

// copiedParts is into how many parts a call divides the bytes of which a rank keeps a copy
// of one, out of place.
var copiedParts = map[string]func(ranks int) int{
	"allgather": func(n int) int { return n },
	"broadcast": func(int) int { return 1 },
}

// extra is what the library's call takes beyond the same instructions, run as a program,
// in microseconds. It is below 0 where the library takes less: the first send of an
// all-gather, or of a broadcast's root, is the copy as well for which a program has a step.
func (s *System) extra(a *algorithm, c Call, p topologies.Proto, channels int, f Forced) float64 {
	if s.fork != nil {
		return s.fork.Extra(p)
	}
	us := 0.
	if f.Before222 {
		us += s.lateStarts(c, p, channels)
		if a.Algo == Ring && !a.chain && p == topologies.Simple && s.nodes == 1 {
			us -= earlierStep[s.arch.generation] * float64(s.tuning.steps(c.Collective)-1)
		}
	}
	if parts := copiedParts[c.Collective]; parts != nil && !c.InPlace {
		us -= copyUS(s.t.Protocols[p], float64(c.Bytes)/float64(parts(s.n)*channels))
	}
	if hops := s.sliceHops(a); hops > 0 && p == topologies.Simple {
		us += s.oneSlice(c.Bytes, channels, s.tile(a, p, channels, c.Bytes), hops, f.BackToBack)
	}
	if a.Algo == Tree && s.nodes > 1 {
		us -= s.treeSaves(p)
	}
	return us
}

// lateStarts is what a call of rings, chains or trees takes more with NCCL before 2.22, whose channels
// start one after another. With Simple the first of them already move bytes: where all together
// would fill a GPU's links, what shows is that the links are not full before enough of them have
// started, or the last one's own work where that takes longer.
func (s *System) lateStarts(c Call, p topologies.Proto, channels int) float64 {
	late := channelExtra * float64(channels-1)
	if p != topologies.Simple {
		return late
	}
	if s.nodes > 1 { // NICs are full with a few
		return 0
	}
	simple := &s.t.Protocols[p]
	rate := min(simple.SendRate, simple.RecvRate).PerMicro()
	if rate == 0 {
		return late
	}
	rate /= simple.Fused * 1000 // GB/s
	full := rate * float64(channels) / s.graph.egress
	if full <= 1 {
		return late
	}
	moved := float64(c.Bytes) * float64(s.tuning.steps(c.Collective)) / float64(s.n) // out of a GPU
	alone, shared := moved/(1000*rate*float64(channels)), moved/(1000*s.graph.egress)
	return max(late+alone-shared, late/full/2)
}

// sliceHops is how many hops a call passes one after another, of what has one slice a call where a
// program has two: chains (BROADCAST_SLICESTEPS), and trees, up and down, on one node
// (ProtoSimple<1, 1> of all_reduce.h).
func (s *System) sliceHops(a *algorithm) int {
	switch {
	case a.chain:
		return s.n - 1
	case a.Algo == Tree && s.nodes == 1:
		return 2 * (s.n - 1)
	}
	return 0
}

// oneSlice is what hops of Simple take more, in microseconds, as each of their calls is one
// slice there: fewer slices, but a rank passes on nothing before it has a whole call. Where calls
// follow back to back, that shows in none but the first. Where channels together fill a GPU's links,
// others move bytes while one pays for its slice, so that it does not show; simulated channels do
// all at the same time. (Two channels a link, as over 8 V100, are too few for that.)
func (s *System) oneSlice(bytes int64, channels int, tile int64, hops int, backToBack bool) float64 {
	p := &s.t.Protocols[topologies.Simple]
	each := float64(bytes) / float64(channels)
	call, slice := min(each, float64(tile)), float64(p.SendSlice)
	saved, us := slice, 0.
	if rate := min(p.SendRate, p.RecvRate).PerMicro(); rate > 0 {
		own := p.Fused * call / rate
		if s.graph.same && s.nvlink && s.nodes == 1 {
			shared := call * float64(channels) / (1000 * s.graph.egress)
			saved += min(max(shared-own, 0), slice)
		}
		if !backToBack {
			us = float64(hops) * own / 2
		}
	}
	return us - math.Ceil(each/float64(tile))*saved
}

// treeSaves is what a tree over nodes takes less, in microseconds. A program's ranks wait
// for another of their threadblocks three times for each level but the last, wherever
// they have a node's and their own part to sum or to pass on, which the library does in
// one primitive; and its connections, at most two children and a parent, start while the
// first messages move. All-reduces of 64 B over 2 to 16 nodes (ABCI) come out at 0.93 to
// 0.98.
func (s *System) treeSaves(p topologies.Proto) float64 {
	waits := 3 * (math.Ceil(math.Log2(float64(s.nodes))) - 1)
	starts := min(s.nodes, 4) - 2
	return waits*float64(s.t.Protocols[p].Dep) + float64(starts)*float64(s.t.Protocols[p].NetStart)
}

// copyUS returns the microseconds that a threadblock takes to copy a number of bytes.
func copyUS(p topologies.Protocol, bytes float64) float64 {
	pass := 16 * float64(p.Threads) // bytes
	tiles := math.Ceil(bytes / float64(p.Tile))
	return math.Ceil(bytes/pass)*float64(cmp.Or(p.CopyPass, p.ReducePass)) + tiles*float64(p.ReduceCall)
}
