package nccl

// NCCL's tuning constants that no release with a row has changed (graph/tuning.cc:
// ncclTunerConstantsDefaults).
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
	capability int     // compute capability: 90 of 9.0
	nvlink     float64 // share of an NVLink's bandwidth that NCCL counts (graph/topo.h)
	xgmi       float64 // GB/s of an xGMI link that RCCL counts; 0 for as the topology has it
	speeds     speeds
}

// archOf is the row of an architecture. RCCL's systems take Ampere's, with
// their own links.
func archOf(name string) arch {
	switch name {
	case "pascal":
		return arch{volta, 60, 18. / 20, 0, speedsOlder}
	case "volta":
		return arch{volta, 70, 20. / 25, 0, speedsOlder}
	case "turing":
		return arch{volta, 75, 20. / 25, 0, speedsOlder}
	case "hopper":
		return arch{hopper, 90, 20.6 / 25, 0, speedsHopper}
	case "blackwell":
		return arch{blackwell, 100, 40.1 / 50, 0, speedsBlackwell}
	case "cdna1":
		return arch{ampere, 80, 1, 24, speedsOlder}
	case "cdna2":
		return arch{ampere, 80, 1, 36, speedsOlder}
	case "cdna3", "cdna4":
		return arch{ampere, 80, 1, XGMIOfMI300, speedsOlder}
	}
	return arch{ampere, 80, 20. / 25, 0, speedsOlder}
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

// ceilings are what bounds the library's expectation, in GB/s: of LL, and of a channel.
type ceilings struct{ ll, ringLL128, treeLL128, tree, nvlsTree byNodes }

// older are the ceilings of GPUs before Blackwell, by generation; those of Blackwell are a release's.
var older = [...]ceilings{
	volta:  {byNodes{39.0, 39.0, 20.4}, byNodes{20, 20, 20}, byNodes{20, 20, 20}, byNodes{26.5, 18.5, 10.0}, byNodes{26.5, 18.5, 10.0}},
	ampere: {byNodes{87.7, 22.5, 19.0}, byNodes{20, 20, 20}, byNodes{20, 20, 20}, byNodes{24.0, 23.6, 17.8}, byNodes{24.0, 23.6, 17.8}},
	hopper: {byNodes{141.0, 45.0, 35.0}, byNodes{36.7, 36.7, 36.7}, byNodes{36.7, 36.7, 29.0}, byNodes{38.7, 41.4, 36.0}, byNodes{0, 57.7, 45.5}},
}

// ceilings are those of the communicator's GPUs.
func (t *Tuning) ceilings() *ceilings {
	if g := t.generation(); g < blackwell {
		return &older[g]
	}
	return &t.release.blackwell
}

// llCeiling is that of LL. Between nodes it goes by the processor: the row of the first GPUs is
// Intel's and others', that of the second AMD's.
func (t *Tuning) llCeiling() float64 {
	switch {
	case t.Nodes == 1:
		return t.ceilings().ll[0]
	case t.CPU == "amd" || t.CPU == "mixed":
		return older[ampere].ll[t.column()]
	}
	return older[volta].ll[t.column()]
}

var (
	threads         = [3]int{512, 640, 512}
	threadThreshold = [3]int{8, 8, 64}
)

const maxThreads = 640 // of a threadblock

// NVLS: reductions in the switches of a node, and trees of them between nodes.
var nvlsEfficiency = [...]float64{0, 0, 0.85, 0.74}

const (
	nvlsStep     = 25 // us
	maxNVLSHeads = 32 // the most GPUs that pull (NCCL_MAX_NVLS_ARITY)
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
