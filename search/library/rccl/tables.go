package rccl

import "github.com/colltune/colltune/topologies"

// RCCL's tuning constants (2.21.5, graph/tuning.cc: rcclTuningModel; the last two of ROCm/rocm-systems at 03a89144), by the
// number that they have there. Latencies in microseconds; LL, Simple in order: 2.21.5 passes over LL128
// on all of these nodes, and later releases go to it by bytes alone.

// expected is what RCCL expects of trees and rings on a kind of node.
type expected struct{ tree, ring row }

// row is what it expects of one algorithm.
type row struct {
	inside, across llSimple       // latency of a step over xGMI, and over the network
	share          [2]llSimple    // of the bus bandwidth; up to two nodes, and more
	atSize         [2][27]float64 // what is reached of that, by the power of two of the size over 64 bytes
}

type llSimple [2]float64

// of is the entry of a protocol.
func (x llSimple) of(p topologies.Proto) float64 { return x[column(p)] }

// column is a protocol's place in RCCL's tables.
func column(p topologies.Proto) int {
	if p == topologies.LL {
		return 0
	}
	return 1
}

var (
	base = llSimple{12, 17}   // of a call
	pci  = llSimple{2.2, 5.7} // a step over PCIe
)

var (
	anyNode = &expected{ // 0: of nodes that it does not know
		tree: row{llSimple{0.8, 2.5}, llSimple{11.8, 20.8}, [2]llSimple{{0.04, 0.91}, {0.04, 0.95}}, [2][27]float64{
			{.1, .2, .1, .1, .9, .3, .4, .1, .2, .4, .2, .1, .3, .3, .2, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.2, 1, .1, .1, .7, .2, .4, .1, .1, .3, .4, .3, .6, .8, 1, 1, 1, 1, .9, .8, .8, .8, .8, .8, .9, .9, .9},
		}},
		ring: row{llSimple{0.8, 3.6}, llSimple{9.5, 15.1}, [2]llSimple{{0.04, 1}, {0.04, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .2, .4, .2, .3, .5, .3, .1, .5, .5, .3, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{1, .8, .2, 1, 1, .3, 1, .1, .1, .2, .2, .1, .5, 1, .8, .8, 1, .9, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		}},
	}
	mi250 = &expected{ // 1: 16 GCDs of MI250, one node
		tree: row{llSimple{1.5, 4.5}, llSimple{33, 15.8}, [2]llSimple{{0.12, 0.99}, {0.15, 0.42}}, [2][27]float64{
			{.5, .4, .7, .6, 1, 1, .5, .4, .1, .5, .4, .6, 1, 1, 1, 1, 1, .8, .6, .5, .4, .4, .3, .2, .1, .1, .1},
			{.1, .1, .1, .1, .1, .3, .4, .5, .1, .6, 1, 1, 1, .6, .5, .7, 1, 1, 1, 1, 1, 1, 1, .7, .5, .3, .3},
		}},
		ring: row{llSimple{1.5, 4.5}, llSimple{5.1, 68.8}, [2]llSimple{{0.12, 1}, {0.2, 1}}, [2][27]float64{
			{1, .5, 1, 1, .6, .7, 1, 1, .2, 1, .9, .7, 1, 1, 1, .9, .9, .8, .8, .7, .6, .5, .5, .3, .2, .1, .1},
			{.3, 1, .3, .1, .1, .1, .3, .7, 1, .2, .1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .3, .5, .9, 1, 1, 1, 1},
		}},
	}
	frontiers = &expected{ // 3: 8 GCDs of MI250X with 4 NICs, several nodes
		tree: row{llSimple{0.8, 2.5}, llSimple{12.5, 22.4}, [2]llSimple{{0.2, 1.75}, {0.2, 0.96}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, 1, 1, .2, 1, .9, 1, .6, .4, .6, .4, .3, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2},
			{1, 1, 1, 1, 1, 1, .1, .1, .1, .2, 1, .8, 1, 1, 1, 1, 1, 1, 1, 1, 1, .8, .7, .8, .9, .7, .7},
		}},
		ring: row{llSimple{0.8, 3.6}, llSimple{9.5, 19.8}, [2]llSimple{{0.2, 1}, {0.2, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .3, .1, .2, .1, .4, .4, .2, .2, .3, .7, .5, .4, .3, .3, .3, .3, .2, .2, .2, .2, .2, .2},
			{.1, .1, .1, .1, .1, .1, .1, .5, 1, .1, .3, .1, .1, .1, .2, .2, .2, .3, .4, .7, 1, 1, 1, 1, 1, 1, 1},
		}},
	}
	mi250s = &expected{ // 4: 16 GCDs of MI250 with 8 NICs, several nodes
		tree: row{llSimple{0.8, 2.5}, llSimple{32.2, 47.6}, [2]llSimple{{0.16, 1.61}, {0.16, 1.08}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, .1, .1, 1, .1, .1, .2, .4, .6, .5, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{1, 1, 1, 1, 1, 1, 1, 1, .8, .4, .3, .3, .1, .1, 1, 1, .7, .5, .6, .5, .6, .6, .5, .6, .6, .6, .7},
		}},
		ring: row{llSimple{0.8, 3.6}, llSimple{35.4, 209.2}, [2]llSimple{{0.15, 1}, {0.15, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .2, .2, .1, .3, .1, .1, .1, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, 1, 1, .8, .5, .1, .7, .2, .4, .4, .6, .7, .9, 1, 1, 1, 1, 1, 1},
		}},
	}
	mi300X = &expected{ // 5: 8 MI300X
		tree: row{llSimple{0.9, 2.3}, llSimple{10.5, 25}, [2]llSimple{{0.06, 0.11}, {0.06, 0.59}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, .8},
		}},
		ring: row{llSimple{0.8, 2.1}, llSimple{9.5, 320}, [2]llSimple{{0.08, 1}, {0.08, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .8, 1, 1, 1},
		}},
	}
	mi300s = &expected{ // 5: MI300X and MI325X, several nodes
		tree: row{llSimple{0.9, 2.3}, llSimple{10.5, 25}, [2]llSimple{{0.06, 0.11}, {0.06, 0.59}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, 1, 1, 1, 1, 1, .7, .7, .5, .6, .6, .6},
		}},
		ring: row{llSimple{0.8, 2.1}, llSimple{9.5, 320}, [2]llSimple{{0.08, 1}, {0.08, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, .2, 1, 1, 1},
		}},
	}
	mi350s = &expected{ // 6: MI355X, several nodes
		tree: row{llSimple{0.9, 2.3}, llSimple{10.5, 25}, [2]llSimple{{0.06, 0.11}, {0.06, 0.59}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, 1, 1, 1, 1, 1, .6, 1, .9, 1, 1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .7, 1, .1, .1, .1, .1, .1, .7, .15, .6, .7, .6},
		}},
		ring: row{llSimple{0.8, 2.1}, llSimple{9.5, 320}, [2]llSimple{{0.08, 1}, {0.08, 1}}, [2][27]float64{
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, 1, .2, 1, .4, .4, .1, .2, .2, .1, .1, .1, .1, .1, .1, .1, .1},
			{.1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .1, .9, .1, 1, .1, .6, 1, 1},
		}},
	}
)

// upTo are the most bytes of a rank (of an all-reduce, of a call) that go by LL, and by LL128; Simple above.
type upTo struct{ ll, ll128 int64 }

// Over nodes, the protocol goes by bytes alone (llProtoRanges, in the same state).
var (
	mi300Ranges = map[string]upTo{"reducescatter": {131072, 3211264}, "allgather": {98304, 5046272}, "allreduce": {524288, 4415057},
		"reduce": {4096, 16777216}, "broadcast": {8192, 33554432}}
	mi350Ranges = map[string]upTo{"reducescatter": {65536, 8388608}, "allgather": {65536, 8388608}, "allreduce": {262144, 70640910},
		"reduce": {16383, 16777216}, "broadcast": {2048, 16777216}}
)

// rangeGrows is what the range of LL128 of an all-reduce is times from three nodes on.
const rangeGrows = 3.8
