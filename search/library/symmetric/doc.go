// Package symmetric says which kernel NCCL runs for a call on windows (ncclCommWindowRegister), with how many
// threadblocks, and what NCCL's own model expects of it; by release, from 2.27 on.
//
//	8 H100, all-reduce of 16 MiB, 2.30.7           AllReduce_RSxLDMC_AGxSTMC ×2   43.4 µs
//	8 B200, all-gather of 8 KiB a rank, 2.32.3     AllGather_TmaSTMC ×1            8.8 µs
//
// A call asks copy engines first, which all-gathers of many elements take by themselves (copies.go); then each
// kernel that may serve it (kernels.go, release.go), at the fewest threadblocks whose time is within 2.5 % of that at
// most. Of these it takes the least time, each threadblock counted as 2.5 % more (choose.go). What is left is for
// rings, trees and NVLS: the library never compares their times with those of windows.
//
// The times are what the library chooses by, and no clocks. Those of the base model (base.go) saturate at rates that
// switches do not reach; that of the all-gather over nodes (network.go) takes seconds for microseconds. Only the all-gathers of
// 2.32.3 on Blackwell are fitted to measured times, by NVIDIA (fitted.go).
//
// Invariants: a choice depends on the release, the communicator and the call alone. Numbers are facts of NCCL's
// sources, which each table names (*.tsv). Rates are in 10^9 B/s unless said (base.tsv: 2^30), times in microseconds.
//
// Settings are what NCCL_SYM_KERNEL, NCCL_SYM_CTAS and the policy ZERO make of a call, by the same model.
//
// Not modelled: groups of calls, other policies, choices of a call's own (ncclCollConfig_t), memory of the
// host, 2.27 and 2.28 on GPUs that PCIe joins.
//
// To add a release that changes something, add a row to releases (release.go), and rows of its numbers.
//
// Files, in an order to read them in: kernels.go choose.go settings.go release.go tables.go base.go fitted.go network.go copies.go
package symmetric
