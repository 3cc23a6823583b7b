package symmetric

// Kernel is one of NCCL's kernels on windows.
type Kernel struct {
	Name       string // NCCL's own
	Collective string
	since      int // release
	needs
}

// needs is what a kernel asks of a communicator or a call.
type needs uint8

const (
	ll        needs = 1 << iota // stores flags beside data: serves calls that are not all in windows, below 2 GiB
	multicast                   // the switches copy to all
	reduction                   // the switches reduce
	tma                         // the tensor memory accelerator: Blackwell
	network                     // GPUs that start messages over the network themselves
)

func (k *Kernel) is(n needs) bool { return k.needs&n != 0 }

// kernels in the order of NCCL's numbers. 2.28's AllReduce_RSxNet_ARxMC_AGxNet has a name and is never chosen.
var kernels = [...]Kernel{
	{"AllReduce_AGxLL_R", "allreduce", 22707, ll},
	{"AllReduce_AGxLLMC_R", "allreduce", 22707, ll | multicast},
	{"AllReduce_RSxTmaLD_AGxTmaST", "allreduce", 23007, tma},
	{"AllReduce_RSxLD_AGxST", "allreduce", 22707, 0},
	{"AllReduce_RSxLDMC_AGxSTMC", "allreduce", 22707, multicast | reduction},
	{"AllGather_LL", "allgather", 22707, ll},
	{"AllGather_LLMC", "allgather", 22707, ll | multicast},
	{"AllGather_TmaST", "allgather", 23007, tma},
	{"AllGather_ST", "allgather", 22707, 0},
	{"AllGather_TmaSTMC", "allgather", 23007, tma | multicast},
	{"AllGather_STMC", "allgather", 22707, multicast},
	{"AllGather_RailRing_LsaSTMC", "allgather", 22907, multicast | network},
	{"ReduceScatter_LL", "reducescatter", 22707, ll},
	{"ReduceScatter_TmaLD", "reducescatter", 23007, tma},
	{"ReduceScatter_LD", "reducescatter", 22707, 0},
	{"ReduceScatter_LDMC", "reducescatter", 22707, multicast | reduction},
	{"ReduceScatter_RailA2A_LsaLD", "reducescatter", 22907, network},
	{"ReduceScatter_RailA2A_LsaLDMC", "reducescatter", 22907, reduction | network},
}

const (
	maxCTAs = 64
	cell    = 1024 // bytes that a call is rounded up to
)

// mostCTAs is how many threadblocks a kernel that uses the switches has at most.
func (k *Kernel) mostCTAs(s *System) int {
	if !k.is(multicast|reduction) || k.is(ll) || k.is(network) && k.is(reduction) {
		return maxCTAs
	}
	of := 16
	if s.Capability >= blackwell {
		of = 32
	}
	return min(maxCTAs, (of+s.Team-1)/s.Team)
}

// deepBytes is how many bytes a call has to have, for a number of threadblocks, so that a kernel's loop of
// TMA runs at all.
func (k *Kernel) deepBytes(ranks, ctas int) int64 {
	switch {
	case k.is(multicast):
		return 4 << 10
	case k.Collective == "allgather":
		return 8 << 10 * int64(ctas)
	}
	return 16 << 10 * int64(ranks*ctas)
}
