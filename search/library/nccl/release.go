package nccl

import "cmp"

// Release is a release of NCCL that has a row: what it changed for a choice.
type Release struct {
	Version string // whose sources were read: 2.30.7
	Number  int    // as ncclGetVersion: 23007
	model
	nvlsTuning
}

// model is what differs between releases in the times that they expect.
type model struct {
	blackwell   ceilings // those of older GPUs have not changed
	nvlsTreeHop float64  // us between nodes
	// nvlsBus is the bus bandwidth of NVLS and its trees, and scaled turns that of rings and NVLS
	// into a call's.
	nvlsBus func(c *Communicator, a Algo, collective string, treeCeiling float64) float32
	scaled  func(bus float32, ranks, steps int) float32
	// nvlsShare is what an all-reduce of NVLS has of its bus; 0: what rings have.
	nvlsShare float32
	// crossing holds Blackwell's trees, its rings over two nodes and PAT to what crosses nodes.
	crossing     bool
	patAverages  bool // PAT has reduce-scatters to averages, too
	patFlushes   bool // PAT counts the network's latency twice, as others with Simple do
	exposedRings bool // with a GPU a node, rings alone have a tree's latency between nodes
	powerTrees   bool // trees over PCIe have a ring's latency on POWER
	// oneNodePlateau has all-gathers and reduce-scatters of Blackwell's rings with Simple start later on
	// one node, as all-reduces over nodes do.
	oneNodePlateau bool
	ll128          []int // the compute capabilities that have LL128; none: all from 7.0 on
	behindChips    Path  // what NICs behind a processor's chip link are
	mixedLL128     bool  // LL128 between generations, from Hopper on
	thinRings      bool  // rings no faster than PCIe have half the threads
	// correctedX86 has Blackwell's NVLSTree held to a share of its bandwidth by size as trees are,
	// and correctedARM with ARM, four GPUs a node and fast NICs, on two nodes below that power of two
	// of 64 bytes; 0: not.
	correctedX86 bool
	correctedARM int
	lastOfTies   bool // of equal times the last is taken
	// partsBySimple has sends and receives take LL by the channels that a peer gets with Simple.
	partsBySimple bool
}

// nvlsTuning is what differs in NVLS's channels.
type nvlsTuning struct {
	leastGPUs int  // of a node
	raising   bool // rings and trees have as many at least
	most      bool // Blackwell's are those over nodes on one, too
	byNIC     bool // Blackwell's depend on its NICs
}

// The rows by rising number. Those of 2.26.6 and 2.29.2 are for times measured with them and older ones.
var (
	v2266 = &Release{"2.26.6", 22606,
		model{blackwell: ceilings{byNodes{282, 90, 70}, byNodes{73.4, 73.4, 73.4}, byNodes{73.4, 73.4, 58}, byNodes{77.4, 82.8, 72}, byNodes{}},
			nvlsTreeHop: 14, nvlsBus: nvlsBySlower, nvlsShare: 5. / 6, scaled: byRatio, patFlushes: true, powerTrees: true, thinRings: true,
			ll128: []int{70, 80, 90, 100, 120}, behindChips: PathPHB},
		nvlsTuning{leastGPUs: 3, raising: true, most: true}}
	v2277 = v2266.then("2.27.7", 22707, func(r *Release) {
		r.nvlsBus, r.ll128, r.behindChips = nvlsByLinks, nil, PathP2C
		r.most = false
	})
	v2289 = v2277.then("2.28.9", 22809, func(r *Release) {
		r.blackwell = ceilings{byNodes{282, 90, 70}, byNodes{73.4, 34.6, 73.4}, byNodes{55.6, 31.67, 20}, byNodes{70, 42.8, 24}, byNodes{0, 96, 43.8}}
		r.nvlsTreeHop, r.nvlsBus, r.nvlsShare = 20.9, nvlsByEfficiency, 0
		r.leastGPUs, r.raising = 2, false
	})
	v2292 = v2289.then("2.29.2", 22902, func(r *Release) {
		r.blackwell.ringLL128 = byNodes{34.5, 34.6, 34.5}
		r.correctedX86 = true
		r.partsBySimple = true
	})
	v2297 = v2292.then("2.29.7", 22907, func(r *Release) { r.blackwell.ringLL128 = byNodes{40, 40, 40} })
	v2307 = v2297.then("2.30.7", 23007, func(r *Release) {
		r.blackwell.nvlsTree = byNodes{0, 96, 80}
		r.mixedLL128, r.byNIC = true, true
	})
	v2312 = v2307.then("2.31.2", 23102, func(r *Release) {
		r.scaled = byProduct
		r.crossing, r.patAverages, r.exposedRings, r.oneNodePlateau = true, true, true, true
		r.patFlushes, r.powerTrees, r.thinRings = false, false, false
		r.correctedARM = 23
		r.lastOfTies = true
	})
	v2323 = v2312.then("2.32.3", 23203, func(r *Release) {
		r.blackwell.ll[0] = 282.4
		r.blackwell.treeLL128[1] = 36.7
		r.correctedARM = 20
	})
	releases = []*Release{v2277, v2289, v2297, v2307, v2312, v2323}
	measured = []*Release{v2266, v2277, v2289, v2292, v2297, v2307, v2312, v2323}
)

// then is the next release, with what it changed.
func (r *Release) then(version string, number int, change func(*Release)) *Release {
	next := *r
	next.Version, next.Number = version, number
	change(&next)
	return &next
}

// Releases lists the releases that have a row, by rising number. They are not to be changed.
func Releases() []*Release { return releases }

// RowFor is the newest release with a row that is not newer than a number of ncclGetVersion's,
// or else the oldest.
func RowFor(number int) *Release {
	of := measured[0]
	for _, r := range measured {
		if r.Number <= number {
			of = r
		}
	}
	return of
}

// orNewest is r, or the newest release where that is nil.
func (r *Release) orNewest() *Release { return cmp.Or(r, v2323) }
