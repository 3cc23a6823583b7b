// Package nccl says what the vendor's library would do: which algorithm,
// protocol and how many channels NCCL's own cost model picks for a collective
// of a size on a topology.
//
//	dgx-a100, allreduce    1 MiB  ring LL     ×24    one ring, in 24 copies
//	                      16 MiB  ring LL128  ×24    (GC3 section 7.1.1)
//	                       1 GiB  ring Simple ×24
//
// Three stages, as in NCCL 2.30: channels and their speed from the topology
// (graph/search.cc), a latency and bandwidth for each algorithm and protocol
// (graph/tuning.cc), the least time, and fewer channels where the size does not
// fill them (enqueue.cc). Collectives that NCCL builds of sends and receives
// are direct, with LL up to 16 KiB for each channel that a peer may have and Simple
// above (direct.go).
//
// The model tells what the library selects; what a call takes is library.Call's to say. It is no clock: measured times are
// up to twice as long at small sizes. What a call takes beyond a program's simulated time
// is in extra.go; only NVLS and PAT have a clock here (nvls.go, pat.go).
//
// Invariants: a choice depends on the topology, the collective and the size
// alone; a graph search is replaced by counting what each GPU's links, those
// between parts of a node and each node's NICs can carry. On links from GPU to GPU
// rings must exist as well: four GPUs have no three that share no link.
//
// What no program here does, as NVLS, where switches reduce, or PAT, is told
// as the library's choice, with its time by a closed form (docs/reference/simulator-rules.md), and with
// what the library would run otherwise behind it.
//
// Calls on windows ask package symmetric first (windows.go): its choices stand before the general ones, with a predicted time,
// at least what the links and switches need for the bytes, or an unknown one.
//
// A fork of NCCL, such as RCCL (package rccl), sees systems as NCCL does, and chooses by numbers of
// its own (fork.go).
//
// Left says a choice in the form of NCCL's tuner (left.go), for files that have to name what
// they leave to NCCL.
//
// It does not choose CollNet, which needs a network that reduces.
package nccl
