package rccl

import (
	"cmp"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// Names of what RCCL runs that is no algorithm of NCCL's.
const (
	directAccess   = "direct access"           // kernels that read and write peers' buffers (RCCL: DDA)
	inLevels       = "hierarchical all-gather" // over nodes, then in them
	directOverNet  = "direct reduce-scatter"   // sends to each peer over nodes, sums in a kernel
	ringOverLL128  = "LL128"                   // of rings and trees over nodes
	noProgram      = "no program here is one of its kernels"
	accessRanks    = 8
	accessAllToAll = 4 << 20   // bytes, of an all-to-all
	oneShot        = 256 << 10 // bytes up to which each rank of an all-reduce reads all
	aligned        = 16        // bytes
)

// Before is what RCCL takes for a call before its own rings and trees, in the order in which it asks (rccl_wrap.cc:
// rcclSelectAllReduce and its likes): direct access, MSCCL files, hierarchies, sends and receives. Kernels on windows would come
// first; but these GPUs have windows with NCCL_CUMEM_ENABLE=1 alone (misc/rocmwrap.cc: of itself for gfx1250 only).
func (m *model) Before(c nccl.Call, f nccl.Forced, allowed func(topologies.Proto) bool) (all []nccl.Choice) {
	kernel := func(name string) {
		all = append(all, nccl.Choice{Family: name, Kernel: name, Protocol: topologies.Simple, Lacks: noProgram})
	}
	s, elem := m.system, cmp.Or(f.ElemBytes, 4)
	if m.accesses(c, f, elem) {
		kernel(directAccess)
		all[len(all)-1].ClockUS, all[len(all)-1].Evidence = m.measured(c, f)
	}
	if !f.NoFiles {
		if file, ok := m.file(c, elem, allowed); ok {
			all = append(all, file)
		}
	}
	switch {
	case c.Collective == "allgather" && !m.release.Files && s.XGMI() == nccl.XGMIOfMI300 && c.Bytes <= hierarchyTo(s.Nodes()):
		kernel(inLevels)
	case c.Collective == "allgather" && c.Bytes <= m.directTo() && s.Ranks()%accessRanks == 0:
		direct := s.SendsAndReceives(s.Ranks(), c.Bytes, f)
		direct.Family, direct.Parameters, direct.ModelUS = "all-pairs", map[string]int{"pieces": 1}, 0 // whatever it takes
		all = append(all, direct)
	case c.Collective == "reducescatter" && m.release.number >= 23007 && s.Topology().Arch == "cdna4" && c.Bytes <= sumsTo[s.Nodes()]:
		kernel(directOverNet)
	}
	if only, ok := m.Only(c.Collective, c.Bytes); ok && only == topologies.LL128 {
		kernel(ringOverLL128)
	}
	return all
}

// isFloat reports whether direct access has a type; f32 where there is no name.
func isFloat(dtype string) bool {
	switch dtype {
	case "", "f32", "f16", "bf16":
		return true
	}
	return false
}

// accesses reports whether direct access serves a call: alone, on one node of eight (rcclDdaEnabled and
// nccl…DdaIpcEligible).
func (m *model) accesses(c nccl.Call, f nccl.Forced, elem int64) bool {
	s := m.system
	most, part := m.release.access[s.Topology().Arch], c.Bytes/int64(s.Ranks())
	if c.Bytes > most || s.Nodes() > 1 || s.Ranks() != accessRanks || !isFloat(f.DType) {
		return false
	}
	sums := cmp.Or(f.Op, "sum") == "sum"
	switch c.Collective {
	case "allreduce":
		return sums && c.Bytes%aligned == 0 && (c.Bytes <= oneShot || c.Bytes/elem%accessRanks == 0 && part%aligned == 0)
	case "reducescatter":
		return sums && c.Bytes%aligned == 0
	case "allgather":
		return part%aligned == 0
	case "alltoall":
		return part%aligned == 0 && c.Bytes <= accessAllToAll
	}
	return false
}

// measured is the time of direct access where it is published, in microseconds: on 8 MI355X, an all-reduce of 64 MiB of f32
// at 376.97 GB/s of bus bandwidth (ROCm/rocm-systems#9049).
func (m *model) measured(c nccl.Call, f nccl.Forced) (us float64, _ nccl.Evidence) {
	const bytes, busGBps = 64 << 20, 376.97
	if c.Collective == "allreduce" && c.Bytes == bytes && cmp.Or(f.DType, "f32") == "f32" && m.system.Topology().Arch == "cdna4" {
		return bytes * 2 * (accessRanks - 1) / accessRanks / (1000 * busGBps), nccl.Measured
	}
	return 0, nccl.Unknown
}

// directTo is how many bytes an all-gather by sends and receives has at most (rcclUseAllGatherDirect).
func (m *model) directTo() int64 {
	nodes := int64(m.system.Nodes())
	switch arch := m.system.Topology().Arch; {
	case !m.release.direct:
	case arch == "cdna3":
		return 4 << 20
	case arch == "cdna4" && nodes == 1:
		return 8 << 20
	case arch == "cdna4" && nodes < 64:
		return nodes * 2 << 20
	case arch == "cdna4":
		return 72 << 20
	}
	return 0
}

// hierarchyTo is how many bytes an all-gather in levels has at most.
func hierarchyTo(nodes int) int64 {
	switch {
	case nodes >= 32:
		return 128 << 20
	case nodes >= 16:
		return 64 << 20
	case nodes >= 8:
		return 32 << 20
	}
	return 0
}

// sumsTo is how many bytes a direct reduce-scatter has at most, by nodes; on two, it needs what they go without.
var sumsTo = map[int]int64{4: 4 << 20, 8: 8 << 20, 16: 8 << 20}

// llParts are the bytes of a rank up to which a call on one node goes by LL (rcclUpdateCollectiveProtocol).
var llParts = map[llPart]int64{
	{"cdna3", "reducescatter"}: 352128,
	{"cdna4", "reducescatter"}: 128 << 10,
	{"cdna4", "allgather"}:     88448,
}

type llPart struct{ arch, collective string }
