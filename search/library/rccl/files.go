package rccl

import (
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// file is an MSCCL file that RCCL ships (2.21.5, tools/msccl-algorithms), by the program
// of ours with its routing, channels and protocol. RCCL takes the first that fits a call
// before its own algorithms (misc/msccl/msccl_lifecycle.cc: mscclInternalSchedulerSelectAlgo).
type file struct {
	collective string
	in, out    bool  // serves calls in place, out of place
	from, to   int64 // bytes, both included
	family     string
	pieces     int // of a part, for all-pairs
	instances  int
	protocol   topologies.Proto
}

// files are those for 8 ranks. In place, nothing serves all-reduces between 11 and 14
// MiB. The files for 16 ranks, one phase, and all-gather went before 2.21.5 was released.
var files = []file{
	{"allreduce", true, true, 0, 64 << 10, "all-pairs", 8, 4, topologies.LL},
	{"allreduce", true, true, 64<<10 + 1, 512<<10 - 1, "all-pairs", 8, 8, topologies.LL},
	{"allreduce", false, true, 512 << 10, 16 << 20, "all-pairs", 8, 8, topologies.Simple},
	{"allreduce", true, false, 512 << 10, 11 << 20, "all-pairs", 8, 8, topologies.Simple},
	{"allreduce", true, false, 14<<20 + 1, 16 << 20, "all-pairs", 8, 8, topologies.Simple},
	{"alltoall", false, true, 0, 9 << 10, "direct", 1, 1, topologies.LL},
	{"alltoall", false, true, 9<<10 + 1, 190 << 10, "direct", 1, 2, topologies.LL},
	{"alltoall", false, true, 190<<10 + 1, 512 << 10, "direct", 1, 4, topologies.LL},
	{"alltoall", false, true, 512<<10 + 1, 7 << 20, "direct", 1, 4, topologies.Simple},
	{"alltoall", false, true, 7<<20 + 1, 43 << 20, "direct", 1, 8, topologies.Simple},
}

// file is the program that RCCL has a file of for a call; ok is false of calls that none
// serves, among them those whose elements do not divide into the file's chunks.
func (m *model) file(c nccl.Call, elemBytes int64, allowed func(topologies.Proto) bool) (chosen nccl.Choice, ok bool) {
	if !m.release.Files || !m.files || m.system.Topology().NoMSCCLFiles {
		return nccl.Choice{}, false
	}
	for _, x := range files {
		serves := x.out
		if c.InPlace {
			serves = x.in
		}
		chunk := int64(m.system.Ranks()*x.pieces*x.instances) * elemBytes
		if x.collective != c.Collective || !serves || c.Bytes < x.from || c.Bytes > x.to || c.Bytes%chunk != 0 || !allowed(x.protocol) {
			continue
		}
		chosen := nccl.Choice{Family: x.family, Channels: x.instances, Protocol: x.protocol}
		if x.family == "all-pairs" {
			chosen.Parameters = map[string]int{"pieces": x.pieces}
		}
		return chosen, true
	}
	return nccl.Choice{}, false
}
