package ncclnames

// SymmetricKernels are NCCL's symmetric kernels (src/sym_kernels.cc at 5067397c), by
// collective, as NCCL_SYM_KERNEL has them. Those with Tma in their name are for Blackwell,
// and off unless a variable enables them.
var SymmetricKernels = []struct {
	Collective string
	Kernels    []string
}{
	{"allreduce", []string{"AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC", "AllReduce_RSxTmaLD_AGxTmaST"}},
	{"allgather", []string{"AllGather_LL", "AllGather_LLMC", "AllGather_ST", "AllGather_STMC", "AllGather_TmaST", "AllGather_TmaSTMC", "AllGather_RailRing_LsaSTMC"}},
	{"reducescatter", []string{"ReduceScatter_LL", "ReduceScatter_LD", "ReduceScatter_LDMC", "ReduceScatter_TmaLD", "ReduceScatter_RailA2A_LsaLD", "ReduceScatter_RailA2A_LsaLDMC"}},
}
