package nccl

import (
	"math"
	"math/bits"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Algo is an algorithm of NCCL's, in its order.
type Algo int

// The algorithms. CollNet is not among them: it needs a network that reduces.
const (
	Tree Algo = iota
	Ring
	NVLS
	NVLSTree
	PAT
	algos
)

// String returns the name that tuners have for it.
func (a Algo) String() string { return [...]string{"tree", "ring", "nvls", "nvlstree", "pat"}[a] }

// Tuning is what a release expects of a communicator. Its sums and products are rounded as the
// library's are, in single precision, as ties are decided by the last bit.
type Tuning struct {
	Communicator
	release *Release
	nvls    nvlsResources
	rows    map[string]*[algos][3]expected
}

// expected is the bandwidth in GB/s, 0 where there is none, and the latency in microseconds.
type expected struct{ bandwidth, latency float32 }

// Tune returns what the release expects of a communicator.
func (r *Release) Tune(c *Communicator) *Tuning {
	t := &Tuning{Communicator: *c, release: r, nvls: r.nvlsOf(c), rows: map[string]*[algos][3]expected{}}
	if r.raising {
		t.Channels = max(t.Channels, t.nvls.channels)
	}
	for _, collective := range []string{"broadcast", "reduce", "allgather", "reducescatter", "allreduce"} {
		var row [algos][3]expected
		for a := range algos {
			for _, p := range topologies.AllProtocols {
				if bw := t.bandwidth(a, p, collective); bw > 0 {
					row[a][p] = expected{bw, t.latency(a, p, collective)}
				}
			}
		}
		t.rows[collective] = &row
	}
	return t
}

// pattern is that of the algorithm's channels.
func (t *Tuning) pattern(a Algo) *Pattern {
	switch a {
	case Ring:
		return &t.Ring
	case NVLS, NVLSTree:
		return &t.NVLS
	}
	return &t.Tree
}

// has reports whether there is an algorithm with a protocol for a collective at all.
func (t *Tuning) has(a Algo, p topologies.Proto, collective string) bool {
	gathers := collective == "allgather" || collective == "reducescatter"
	switch a {
	case Tree:
		return collective == "allreduce"
	case Ring:
		return true
	case NVLS:
		return p == topologies.Simple && t.nvls.channels > 0 && t.Nodes == 1 && (collective == "allreduce" || gathers && t.MostLocal <= maxNVLSHeads)
	case NVLSTree:
		return p == topologies.Simple && t.nvls.channels > 0 && t.Nodes > 1 && collective == "allreduce"
	}
	return p == topologies.Simple && gathers && t.Nodes == t.Ranks && t.OldestGPU >= 60
}

// Takes reports whether the library takes a protocol by itself: LL128 where all stores of 128 bytes arrive
// whole, over NVLink and to NICs that are near, from Hopper on also by way of another GPU's.
func (t *Tuning) Takes(a Algo, p topologies.Proto) bool {
	if p != topologies.LL128 {
		return true
	}
	pattern, farthest := t.pattern(a), PathPXB
	if t.OldestGPU >= 90 {
		farthest = PathPXN
	}
	inter := pattern.PathInter
	if inter == PathP2C {
		inter = t.release.behindChips
	}
	has := t.OldestGPU >= 70 && (len(t.release.ll128) == 0 || slices.Contains(t.release.ll128, t.OldestGPU))
	return has && inter <= farthest && pattern.PathIntra <= PathNVB && (t.OldestGPU == t.NewestGPU || t.OldestGPU >= 90 && t.release.mixedLL128)
}

// bandwidth is that of a call, in GB/s; 0 where there is none.
func (t *Tuning) bandwidth(a Algo, p topologies.Proto, collective string) float32 {
	if !t.has(a, p, collective) {
		return 0
	}
	most, column := t.ceilings(), t.column()
	channels := t.pattern(a).Channels
	bus := float32(channels) * t.rate(a)
	switch a {
	case Ring:
		switch p {
		case topologies.LL:
			bus = float32(math.Min(t.llCeiling(), float64(bus)*.5))
		case topologies.LL128:
			bus = float32(math.Min(float64(bus)*.92, float64(channels)*most.ringLL128[column]))
		}
	case Tree:
		bus = float32(math.Min(float64(bus)*.92, float64(channels)*most.tree[column]))
		switch p {
		case topologies.LL:
			bus = float32(math.Min(float64(bus)/3.8, t.llCeiling()))
		case topologies.LL128:
			share := 120. / 128
			if t.Nodes == 1 {
				share = 7. / 9
			}
			bus = float32(math.Min(float64(bus)*share, float64(channels)*most.treeLL128[column]))
		}
		if t.PlainTree {
			bus = float32(float64(bus) * .85)
		}
		return bus * .5
	case NVLS, NVLSTree:
		bus = t.release.nvlsBus(&t.Communicator, a, collective, most.nvlsTree[column])
		if collective != "allreduce" {
			return bus
		}
		if t.release.nvlsShare > 0 {
			return bus * t.release.nvlsShare
		}
	case PAT:
		return bus * patShare
	}
	return t.release.scaled(bus, t.Ranks, t.steps(collective))
}

// rate is what a channel counts, in GB/s: what it carries inside a node, or between nodes.
func (t *Tuning) rate(a Algo) float32 {
	p := t.pattern(a)
	switch {
	case t.release.crossing && (a == PAT || a == Tree && t.OldestGPU >= 100):
		return min(p.Inter, p.Intra)
	case t.Nodes == 1, t.Nodes == 2 && !(t.release.crossing && t.OldestGPU >= 100):
		return p.Intra
	}
	return p.Inter
}

// byRatio and byProduct turn the bandwidth of a bus into that of a call, which differ in rounding.
func byRatio(bus float32, ranks, steps int) float32 {
	return bus * float32(float64(ranks)/float64(steps))
}

func byProduct(bus float32, ranks, steps int) float32 {
	return bus * float32(ranks) / float32(steps)
}

// latency is that of a call, in microseconds.
func (t *Tuning) latency(a Algo, p topologies.Proto, collective string) float32 {
	pattern := t.pattern(a)
	inside, across := t.inside(a, p), t.across(a, p)
	doublings := float32(bits.Len(uint(t.Nodes)) - 1)
	switch a {
	case Ring:
		base, steps := float32(baseRing[p]), t.steps(collective)
		if collective == "broadcast" || collective == "reduce" {
			step := inside
			switch {
			case t.Nodes > 1 && p == topologies.Simple && !pattern.Same:
				step = float32(netTree[p])
			case t.Nodes > 1:
				step = float32(netRing[p])
			case p == topologies.Simple && !pattern.Same:
				step = t.inside(Tree, p)
			}
			if pattern.Same { // a pipeline: one step shows
				return base + step
			}
			return base + float32(float32(steps)*step)
		}
		crossing := 0
		if t.Nodes > 1 {
			inside = max(inside, float32(netOverhead(t.CPU, p)))
			crossing = t.Nodes - 1
			if collective == "allreduce" {
				crossing *= 2
			}
		}
		return base + (float32(float32(steps-crossing)*inside) + float32(float32(crossing)*across))
	case Tree:
		return float32(baseTree[p]) + 2*(float32(float32(t.Ranks/t.Nodes-1)*inside)+float32(doublings*across))
	case NVLS:
		return inside
	case NVLSTree:
		return inside + float32(2*doublings*across)
	}
	return float32(patBase + (float64(doublings)*(float64(across)/patHops) + float64(t.Ranks)*patRank))
}

// netOverhead is what a processor takes to post a message to the network, in microseconds.
func netOverhead(cpu string, p topologies.Proto) float64 {
	overhead := 1.0
	if cpu == "amd" {
		overhead = 2
	}
	if p == topologies.Simple {
		overhead *= 3
	}
	return overhead
}

// inside is the latency of a step inside a node, in microseconds.
func (t *Tuning) inside(a Algo, p topologies.Proto) float32 {
	nvlink := t.pattern(a).PathIntra == PathNVL
	switch {
	case a == NVLS || a == NVLSTree:
		if !nvlink {
			return 0
		}
		return nvlsStep
	case a == Ring && nvlink:
		return float32(nvlinkRing[p])
	case a == Ring, t.CPU == "power" && t.release.powerTrees && p == topologies.Simple && !nvlink:
		return float32(pciRing[p])
	case nvlink:
		return float32(nvlinkTree[p])
	}
	return float32(pciTree[p])
}

// across is the latency of a step between nodes, in microseconds. With one GPU a node, it is not hidden.
func (t *Tuning) across(a Algo, p topologies.Proto) float32 {
	us := netTree[p]
	exposed := t.Ranks == t.Nodes
	switch {
	case a == Ring && !exposed:
		us = netRing[p]
	case a == NVLSTree && (!exposed || t.release.exposedRings):
		us = t.release.nvlsTreeHop
	case a == PAT:
		us = patHop
	}
	latency := t.pattern(a).LatencyUS
	if p == topologies.Simple && (a != PAT || t.release.patFlushes) { // and that of a flush
		return float32(us) + latency + latency
	}
	return float32(us) + latency
}

// US is the time of a call, in microseconds: latency, and bytes over bandwidth, both corrected for the
// size; infinite where there is none.
func (t *Tuning) US(a Algo, p topologies.Proto, c Call) float32 {
	rows := t.rows[c.Collective]
	if rows == nil || rows[a][p].bandwidth == 0 || !t.computes(a, c) {
		return float32(math.Inf(1))
	}
	e := rows[a][p]
	if log := bits.Len64(uint64(c.Bytes>>6)) - 1; log >= 0 && log < len(treeCorrection[p]) && t.corrected(a, log) {
		e.bandwidth *= float32(treeCorrection[p][log])
	}
	if a == Ring && p == topologies.Simple && t.plateau(c.Collective) && c.Bytes/int64(t.Channels*t.Ranks) >= 64 {
		late := 1.4
		if t.OldestGPU < 80 {
			late = 1.9
		}
		e.latency = float32(float64(e.latency) * late)
	}
	us := e.latency + float32(float32(c.Bytes)/(1000*e.bandwidth))
	if a == Ring && t.Ranks > 8 && c.Collective != "allgather" && c.Collective != "broadcast" && (c.DType == "f8e4m3" || c.DType == "f8e5m2") {
		us *= 1024 // as many sums of so short floats lose precision
	}
	return us
}

// computes reports whether an algorithm has a call's operation on its type.
func (t *Tuning) computes(a Algo, c Call) bool {
	switch a {
	case NVLS, NVLSTree:
		return c.Collective == "allgather" || SwitchesReduce(c.op(), c.dtype())
	case PAT:
		return c.Collective == "allgather" || c.op() != "avg" || t.release.patAverages
	}
	return true
}

// corrected reports whether the size, as a power of two of 64 bytes, changes an algorithm's bandwidth.
func (t *Tuning) corrected(a Algo, log int) bool {
	switch {
	case a == Tree:
		return log < 23
	case a != NVLSTree || t.OldestGPU < 100:
		return false
	case t.x86():
		return t.release.correctedX86
	}
	return t.release.correctedARM > 0 && t.CPU == "arm" && t.NetGBps >= 96 && t.LeastLocal == 4 && t.MostLocal == 4 &&
		(log < t.release.correctedARM || t.Nodes > 2)
}

// plateau reports whether a ring's start with Simple takes longer from some size on.
func (t *Tuning) plateau(collective string) bool {
	if t.Nodes > 1 {
		return collective == "allreduce"
	}
	return t.release.oneNodePlateau && t.OldestGPU >= 100 && t.Ring.PathIntra == PathNVL && (collective == "allgather" || collective == "reducescatter")
}
