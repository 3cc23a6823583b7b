package nccl

import (
	"slices"

	"github.com/colltune/colltune/topologies"
)

// NCCL's tuning constants (2.30, graph/tuning.cc: ncclTunerConstantsDefaults).
// Latencies in microseconds, bandwidths in GB/s; LL, LL128, Simple in order.

type perProto [3]float64

// generation orders the architectures of NVIDIA by compute capability.
type generation int

const (
	volta generation = iota // and before
	ampere
	hopper
	blackwell
)

// arch is a row of what differs between GPU generations.
type arch struct {
	generation
	ll128  bool    // the protocol exists (compute capability 7.0)
	nvlink float64 // share of an NVLink's bandwidth that NCCL counts (graph/topo.h)
	xgmi   float64 // GB/s of an xGMI link that RCCL counts; 0 for as the topology has it
	speeds speeds
}

// archOf is the row of an architecture. RCCL's systems take Ampere's, with
// their own links.
func archOf(name string) arch {
	switch name {
	case "pascal":
		return arch{volta, false, 18. / 20, 0, speedsOlder}
	case "volta":
		return arch{volta, true, 20. / 25, 0, speedsOlder}
	case "turing":
		return arch{volta, true, 20. / 25, 0, speedsOlder}
	case "hopper":
		return arch{hopper, true, 20.6 / 25, 0, speedsHopper}
	case "blackwell":
		return arch{blackwell, true, 40.1 / 50, 0, speedsBlackwell}
	case "cdna1":
		return arch{ampere, false, 1, 24, speedsOlder}
	case "cdna2":
		return arch{ampere, false, 1, 36, speedsOlder}
	case "cdna3", "cdna4":
		return arch{ampere, false, 1, XGMIOfMI300, speedsOlder}
	}
	return arch{ampere, true, 20. / 25, 0, speedsOlder}
}

// XGMIOfMI300 is what RCCL counts for an xGMI link of MI300, in GB/s.
const XGMIOfMI300 = 48

var (
	baseTree = perProto{6.8, 14.0, 8.4}
	baseRing = perProto{6.6, 14.0, 8.4}

	nvlinkTree = perProto{0.6, 1.25, 4.0}
	nvlinkRing = perProto{0.6, 1.9, 3.4}
	pciTree    = perProto{1.0, 1.9, 4.0}
	pciRing    = perProto{1.0, 2.5, 5.7}
	netTree    = perProto{5.0, 8.5, 14}
	netRing    = perProto{2.7, 4.0, 14.0}
)

// Columns: 1 node, 2 nodes, more.
type byNodes [3]float64

// By generation.
var (
	llMaxBw = [...]byNodes{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282, 90, 70}}
	// Blackwell's is that of 2.29.2, whose choices were measured; 2.27 has 73.4, 2.30 has 40.
	ringLL128PerCh  = [...]byNodes{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {34.5, 34.6, 34.5}}
	treeLL128PerCh  = [...]byNodes{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}
	treePerCh       = [...]byNodes{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}
	threads         = [3]int{512, 640, 512}
	threadThreshold = [3]int{8, 8, 64}
)

// NVLS: reductions in the switches of a node, and trees of them between nodes.
var (
	nvlsEfficiency = [...]float64{0, 0, 0.85, 0.74}
	nvlsTreePerCh  = [...]byNodes{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}
)

const (
	nvlsStep       = 25   // us
	nvlsTreeAcross = 20.9 // us
	maxNVLSHeads   = 32   // the most GPUs that pull (NCCL_MAX_NVLS_ARITY)
)

// pciBandwidth is what NCCL counts for 16 lanes of PCIe 3.
const pciBandwidth = 12

// treeCorrection is what a tree reaches of its bandwidth, by the power of two of
// the size over 64 bytes.
var treeCorrection = [3][24]float64{
	{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
	{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
	{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}

// available reports whether the library would use a protocol here: LL128 only
// where all stores of 128 bytes arrive whole, over NVLink and, between nodes, to a NIC that
// is not behind the processor.
func (s *System) available(p topologies.Proto) bool {
	return s.t.Has(p) && (p != topologies.LL128 || s.arch.ll128 && s.nvlink && (s.nodes == 1 || s.nearNICs()))
}

// nearNICs reports whether NICs are as near as LL128 needs (ncclTopoTuneModel): over PCIe
// switches, from Hopper on also over NVLink and another GPU's.
func (s *System) nearNICs() bool {
	farthest := "pxb"
	if s.arch.generation >= hopper {
		farthest = "pxn"
	}
	return slices.Index(topologies.NICPaths, s.t.NICPath) <= slices.Index(topologies.NICPaths, farthest)
}
