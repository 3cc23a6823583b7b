package nccl

import (
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// nvlsResources is what NVLS has of a communicator: channels, and the bytes that each gives a head at
// a time, on one node and in trees over nodes, at most. No channels say that there is no NVLS.
type nvlsResources struct{ channels, chunk, treeChunk int }

// nvlsOf is what the release gives NVLS (transport/nvls.cc).
func (r *Release) nvlsOf(c *Communicator) nvlsResources {
	if !c.Switched || c.OldestGPU < 90 || c.LeastLocal < r.leastGPUs || c.NVLS.Channels == 0 {
		return nvlsResources{}
	}
	n := nvlsResources{channels: 16, chunk: 128 << 10}
	if c.OldestGPU >= 100 {
		n.channels = 24
		if c.Nodes > 1 || r.most {
			n.channels = 32
		}
	}
	if r.byNIC && c.OldestGPU >= 100 && c.Nodes > 1 {
		n.fitNICs(c)
	}
	switch {
	case n.treeChunk > 0:
	case c.Nodes >= 4:
		n.treeChunk = 64 << 10
	default:
		n.treeChunk = n.chunk
	}
	return n
}

// fitNICs is the rule of Blackwell over nodes.
func (n *nvlsResources) fitNICs(c *Communicator) {
	gpus, near := c.LeastLocal, c.NVLS.PathInter <= PathPXB
	switch {
	case c.NetGBps < 48:
	case c.Nodes == 2 && gpus <= 4:
		n.chunk, n.treeChunk = 256<<10, 256<<10
	case c.Nodes == 2 && (gpus >= 16 || gpus <= 8 && near && c.NetGBps < 96):
		n.treeChunk = 64 << 10
	case c.Nodes == 2:
		n.treeChunk = 128 << 10
	case c.NetGBps >= 96 && gpus <= 8:
		*n = nvlsResources{24, 256 << 10, 256 << 10}
	case c.NetGBps >= 96 && gpus < 32:
		n.treeChunk = 128 << 10
	case c.NetGBps >= 96, near:
		n.treeChunk = 64 << 10
	default:
		n.treeChunk = 128 << 10
	}
	if c.Nodes > 2 && c.NetGBps >= 48 && c.NetGBps < 96 {
		n.channels = 24
	}
}

// registered is how many channels a call of NVLS takes: fewer where its buffers are registered, so many
// that eight heads have that number of them.
func (n nvlsResources) registered(t *Tuning, c Call) int {
	if c.Registered != User {
		return n.channels
	}
	return (8*t.release.registeredOf(&t.Communicator, c.Collective) + t.NVLS.Channels - 1) / t.NVLS.Channels
}

// registeredOf is how many channels eight heads have for registered buffers.
func (r *Release) registeredOf(c *Communicator, collective string) int {
	late := c.OldestGPU >= 100
	switch {
	case collective == "allgather":
		return 4
	case collective == "reducescatter" && late:
		return 6
	case collective == "reducescatter":
		return 5
	case c.Nodes == 1 && late:
		return 8
	case c.Nodes == 1:
		return 4
	case late && r.byNIC && c.NetGBps >= 96:
		return 10
	case late:
		return 7
	}
	return 6
}

// nvlsBySlower has calls as fast as a channel's links, and trees' half of that between more than two nodes.
func nvlsBySlower(c *Communicator, a Algo, _ string, ceiling float64) float32 {
	return nvlsByLinks(c, a, "allreduce", ceiling)
}

// nvlsByLinks has all-reduces so, and gathers without the bytes that stay.
func nvlsByLinks(c *Communicator, a Algo, collective string, _ float64) float32 {
	p, gpus := &c.NVLS, float32(c.Ranks)/float32(c.Nodes)
	bw := min(p.Intra, p.Inter)
	switch {
	case a == NVLSTree && c.Nodes > 2:
		bw = min(p.Intra, p.Inter/2)
	case collective != "allreduce":
		bw = min(p.Intra*(gpus-1)/gpus, p.Inter*0.9)
	}
	return float32(p.Channels) * bw
}

// nvlsByEfficiency has them reach a share of the links, where reduced data comes up while other data
// goes down.
func nvlsByEfficiency(c *Communicator, a Algo, collective string, treeCeiling float64) float32 {
	p, gpus := &c.NVLS, float32(c.Ranks)/float32(c.Nodes)
	if p.Channels < 2 {
		return 0
	}
	intra := p.Intra * float32(nvlsEfficiency[c.generation()]) * float32(p.Channels-1) / float32(p.Channels)
	if collective == "allreduce" {
		intra *= 2
	} else {
		intra *= (gpus - 1) / gpus
	}
	bw := min(intra, p.Inter)
	if a == NVLSTree {
		inter := p.Inter
		if c.Nodes == 2 {
			inter *= 2
		}
		bw = min(intra, inter, float32(treeCeiling))
	}
	return float32(p.Channels) * bw
}

// nvlsLaunch is what a call of NVLS takes beside its chunks, in microseconds: that of
// NCCL's own model of a ring with Simple (baseRing), with which nvlsRates were fitted.
const nvlsLaunch = 8.4

// nvlsTreeAcross is what a level of the switches' trees takes between nodes, in microseconds.
const nvlsTreeAcross = 20.9

// nvlsRates is what bounds NVLS, by generation: the GB/s out of a GPU while chunks are on
// their way, and the microseconds that a channel takes for each chunk beside that. Both
// are fitted to times from 4 MiB: on 8 H100 (NCCL 2.26.2, and AWS p5) and 8 H200
// (2.29.2), and on 8 B200 (2.27.5 to 2.29.2).
var nvlsRates = [...]struct{ gbps, chunkUS float64 }{hopper: {340, 0.6}, blackwell: {630, 1.05}}

// nvlsClock returns the time of an all-reduce by the switches, in microseconds. A channel
// takes a chunk for each head through three stages: scatter, reduce and multicast, gather.
// That takes a fixed time a chunk, and of each GPU's links what it sends for all heads and
// for itself. Two stages pass before the first chunk is done. Over nodes the switches'
// trees are as fast as the library itself counts, and each level adds its latency.
func (s *System) nvlsClock(c Call) float64 {
	t := s.tuning
	heads, rate := float64(t.NVLS.Channels), nvlsRates[t.generation()]
	loop := float64(t.nvls.channels) * heads * float64(t.nvlsChunk(c.Bytes))
	stage := heads*rate.chunkUS + loop*(1+1/heads)/(1000*rate.gbps)
	if t.Nodes > 1 { // counted of whole calls, what chunks cost included
		across := float64(t.bandwidth(NVLSTree, topologies.Simple, "allreduce"))
		stage = max(stage, loop/(1000*across))
	}
	stages := float64(c.Bytes)/loop + 2
	return nvlsLaunch + 2*math.Log2(float64(t.Nodes))*nvlsTreeAcross + stages*stage
}

// nvlsChunk is what a channel gives a head at a time, in bytes: less where the call is
// too small for several of them (enqueue.cc, calcCollChunking).
func (t *Tuning) nvlsChunk(bytes int64) int64 {
	atOnce := int64(t.nvls.channels * t.NVLS.Channels)
	chunk, limits := int64(t.nvls.chunk), []struct{ chunks, chunk int64 }{{64, 64 << 10}, {8, 32 << 10}, {2, 16 << 10}}
	if t.Nodes > 1 {
		chunk = int64(min(t.nvls.chunk, t.nvls.treeChunk))
		limits = []struct{ chunks, chunk int64 }{{16, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}}
	}
	for _, l := range limits {
		if bytes < l.chunks*atOnce*chunk {
			chunk = min(chunk, l.chunk)
		}
	}
	return chunk
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
