package nccl

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Selected is a general algorithm of NCCL's for a call, as it would run.
type Selected struct {
	Algo
	Protocol topologies.Proto
	Channels int
	Warps    int     // of a threadblock
	US       float64 // what the library expects it to take
}

// Ranked returns the algorithms of a call that have an allowed protocol, each with its best, the least time
// first: that which the library takes, and what it would take otherwise. They have fewer channels and threads
// where the size does not fill them.
func (t *Tuning) Ranked(c Call, allowed func(Algo, topologies.Proto) bool) (all []Selected) {
	for a := range algos {
		best := Selected{Algo: a, US: math.Inf(1)}
		for _, p := range topologies.AllProtocols {
			if us := float64(t.US(a, p, c)); allowed(a, p) && (us < best.US || us == best.US && t.release.lastOfTies) {
				best.US, best.Protocol = us, p
			}
		}
		if !math.IsInf(best.US, 1) {
			best.Channels, best.Warps = t.fill(t.Channels, a, best.Protocol, c)
			all = append(all, best)
		}
	}
	if t.release.lastOfTies {
		slices.Reverse(all)
	}
	slices.SortStableFunc(all, func(a, b Selected) int { return cmp.Compare(a.US, b.US) })
	return all
}

const warp = 32 // threads

// fill is how many channels of a communicator's, and warps of each, a call takes.
func (t *Tuning) fill(channels int, a Algo, p topologies.Proto, c Call) (_, warps int) {
	most := t.threads(a, p)
	if a == NVLS || a == NVLSTree {
		return t.nvls.registered(t, c), most / warp
	}
	each := t.each(a, p)
	channels = fill(channels, most, each, c.Bytes)
	filled := func(threads int) bool { return c.Bytes >= int64(channels*threads*each) }
	few := most
	for few%128 == 0 && !filled(few) {
		few /= 2
	}
	switch {
	case a == Tree, a == PAT:
		return channels, maxThreads / warp
	case p == topologies.Simple:
		few += warp // one waits
	}
	return channels, max(few/warp, 3)
}

// threads is how many threads of a threadblock an algorithm has at most.
func (t *Tuning) threads(a Algo, p topologies.Proto) int {
	switch {
	case a == Ring && p == topologies.Simple && t.release.thinRings && t.Ring.Intra*float32(t.Ring.Channels) <= pciBandwidth:
		return 256
	case a == Ring, a == Tree:
		return threads[p]
	case a == PAT:
		return 0
	}
	return maxThreads
}

// each is how many bytes a thread has to have.
func (t *Tuning) each(a Algo, p topologies.Proto) int {
	if a == Ring && p == topologies.LL {
		return threadThreshold[p] * t.Ranks
	}
	return threadThreshold[p]
}

// fill is how many of some channels leave each thread of them enough to do.
func fill(channels, threads, each int, bytes int64) int {
	if full := int64(threads * each); full > 0 {
		return min(channels, int(max(bytes/full, 1)))
	}
	return channels
}
