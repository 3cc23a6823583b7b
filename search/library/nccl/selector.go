package nccl

import (
	"math"

	"github.com/colltune/colltune/topologies"
)

// Selected is what NCCL runs of a call, by its general algorithms.
type Selected struct {
	Algo
	Protocol topologies.Proto
	Channels int
	Warps    int     // of a threadblock
	US       float32 // what the library expects it to take
}

// Select returns what the library takes of a call: the pair of algorithm and protocol with the least
// time, and fewer channels and threads where the size does not fill them. ok is false where there is none.
func (t *Tuning) Select(c Call) (s Selected, ok bool) {
	s.US = math.MaxFloat32
	for a := range algos {
		for _, p := range topologies.AllProtocols {
			if us := t.US(a, p, c); t.Takes(a, p) && (us < s.US || us == s.US && t.release.lastOfTies) {
				s.Algo, s.Protocol, s.US, ok = a, p, us, true
			}
		}
	}
	if ok {
		s.Channels, s.Warps = t.fill(s.Algo, s.Protocol, c)
	}
	return s, ok
}

const warp = 32 // threads

// fill is how many channels, and warps of each, a call takes.
func (t *Tuning) fill(a Algo, p topologies.Proto, c Call) (channels, warps int) {
	channels, most := t.Channels, t.threads(a, p)
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
