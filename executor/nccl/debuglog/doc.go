// Package debuglog reads what NCCL and RCCL print under NCCL_DEBUG=INFO, as far
// as it tells what really ran:
//
//	node1:411:418 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}
//	                            └───────────────────────── Choice ─────────────────────────┘
//
// A library that cannot do what its environment asks does something else and
// says nothing, or says it here only. Lines may be broken into by others, be
// labelled by a launcher, or follow half a line of another kind: each is searched
// for the words it is known by, and any other is passed over.
//
// Invariants: any bytes give a log, in time proportional to their number; names
// are lower case and as NCCL_ALGO and NCCL_PROTO take them.
//
// It does not judge whether what ran is what was asked for.
package debuglog
