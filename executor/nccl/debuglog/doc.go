// Package debuglog reads the log of NCCL and RCCL (NCCL_DEBUG=INFO) for the algorithms that
// really ran:
//
//	node1:411:418 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}
//	                            └───────────────────────── Choice ─────────────────────────┘
//	node1:411:418 [0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8 …
//	                                                                  └───────── Kernel ─────────┘
//
// A library that cannot do what its environment asks does something else, and reports it
// here or nowhere. Lines may be interrupted by others, labelled by a launcher, or follow
// half a line of another kind: each is searched for known patterns, and others are
// skipped.
//
// Invariants: any bytes give a log, in time proportional to their number; names
// are lower case and as NCCL_ALGO and NCCL_PROTO take them.
//
// It does not decide whether the right algorithm ran.
package debuglog
