package nccl

import (
	"math"
	"slices"
)

// nvls is a system whose switches may reduce.
type nvls struct{ *System }

// there reports whether the switches of a node reduce what GPUs send: NVSwitch of the
// third generation, which came with Hopper.
func (s nvls) there() bool {
	return s.arch.generation >= hopper && s.nvlink && s.switched() && s.n/s.nodes > 1
}

// heads is how many GPUs of a node reduce: each the head of a channel, as far as there
// are heads and, between nodes, NICs.
func (s nvls) heads() int {
	heads := min(s.n/s.nodes, maxNVLSHeads)
	if s.nodes > 1 {
		heads = min(heads, s.graph.ways)
	}
	return heads
}

// bandwidth is the bus bandwidth that the library expects of NVLS, and of its
// trees from two nodes on.
func (s nvls) bandwidth() float64 {
	gpus := s.n / s.nodes
	heads, speeds := s.heads(), s.arch.speeds.intra
	most := s.graph.egress * float64(gpus) / float64(gpus-1) // a head need not send to itself
	if s.nodes > 1 {
		speeds = s.arch.speeds.inter
		most = math.Min(most, s.graph.network)
	}
	inside := 0.0
	for _, speed := range speeds {
		if speed*float64(heads) <= most {
			inside = speed
			break
		}
	}
	// Reduced data comes up while other data goes down.
	up := 2 * inside * nvlsEfficiency[s.arch.generation] * float64(heads-1) / float64(heads)
	switch {
	case heads < 2:
		return 0
	case s.nodes == 1: // nothing crosses: the fastest speed there is
		return float64(heads) * math.Min(up, speeds[0])
	case s.nodes == 2:
		inside *= 2
	}
	return float64(heads) * min(up, inside, nvlsTreePerCh[s.arch.generation][s.column()])
}

// channels is how many channels NVLS has, whatever the size (transport/nvls.cc).
func (s nvls) channels() int {
	switch {
	case s.arch.generation == hopper:
		return 16
	case s.nodes == 1:
		return 24
	}
	return 32
}

// chunk is what a channel gives a head at a time, in bytes: less where the call is
// too small for several of them (enqueue.cc, calcCollChunking).
func (s nvls) chunk(bytes int64) int64 {
	atOnce := int64(s.channels() * s.heads())
	chunk, limits := int64(128<<10), []struct{ chunks, chunk int64 }{{64, 64 << 10}, {8, 32 << 10}, {2, 16 << 10}}
	if s.nodes > 1 {
		limits = []struct{ chunks, chunk int64 }{{4, 64 << 10}, {1, 32 << 10}}
		if s.nodes >= 4 {
			chunk = 64 << 10
		}
	}
	for _, l := range limits {
		if bytes < l.chunks*atOnce*chunk {
			chunk = min(chunk, l.chunk)
		}
	}
	return chunk
}

// nvlsLaunch is what a call of NVLS takes beside its chunks, in microseconds: that of
// NCCL's own model of a ring with Simple (baseRing), with which nvlsRates were fitted.
const nvlsLaunch = 8.4

// nvlsRates is what bounds NVLS, by generation: the GB/s out of a GPU while chunks are on
// their way, and the microseconds that a channel takes for each chunk beside that. Both
// are fitted to times from 4 MiB: on 8 H100 (NCCL 2.26.2, and AWS p5) and 8 H200
// (2.29.2), and on 8 B200 (2.27.5 to 2.29.2).
var nvlsRates = [...]struct{ gbps, chunkUS float64 }{hopper: {340, 0.6}, blackwell: {630, 1.05}}

// clock returns the time of an all-reduce by the switches, in microseconds. A channel
// takes a chunk for each head through three stages: scatter, reduce and multicast, gather.
// That takes a fixed time a chunk, and of each GPU's links what it sends for all heads and
// for itself. Two stages pass before the first chunk is done. Over nodes the switches'
// trees are as fast as the library itself counts, and each level adds its latency.
func (s nvls) clock(bytes int64) float64 {
	heads, rate := float64(s.heads()), nvlsRates[s.arch.generation]
	loop := float64(s.channels()) * heads * float64(s.chunk(bytes))
	byteUS := (1 + 1/heads) / (1000 * rate.gbps)
	if s.nodes > 1 {
		across := s.bandwidth() * float64(s.n) / s.RingSteps("allreduce")
		byteUS = math.Max(byteUS, 1/(1000*across))
	}
	stages := float64(bytes)/loop + 2
	return nvlsLaunch + 2*math.Log2(float64(s.nodes))*nvlsTreeAcross + stages*(heads*rate.chunkUS+loop*byteUS)
}

// SwitchesReduce reports whether NVLS has a reduction (NCCL 2.29, ncclNvlsSupported): sums
// of words and floats, and the least and greatest of all but f32 and f64.
func SwitchesReduce(op, dtype string) bool {
	switch op {
	case "sum":
		return slices.Contains([]string{"f16", "bf16", "f32", "f64", "i32", "u32", "i64", "u64"}, dtype)
	case "min", "max":
		return slices.Contains([]string{"f16", "bf16", "i32", "u32", "i64", "u64"}, dtype)
	}
	return false
}
