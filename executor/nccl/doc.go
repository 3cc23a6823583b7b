// Package nccl is the executor that is a communication library: NCCL or RCCL,
// with its algorithms, protocols and settings as candidates, and MSCCL programs
// where the library is one that reads them.
//
//	trial{ring, LL128, channels=8} ──▶ NCCL_ALGO=Ring NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=8 …
//	                                      │
//	        LAUNCHER env … all_reduce_perf -b SIZE -e SIZE …   once with NCCL_DEBUG=INFO: did it take?
//	                                      │                    then without, to be timed
//	  measurement ◀── nccltests.Parse ────┘
//
// That is for clusters. On one host without nccl-tests the library is loaded
// into a process of ours (worker.go), a communicator of each GPU, timed with
// events and checked against package data.
//
// The library reads its environment once a process, and where it can't do what
// it is asked it does something else and says so only in its log. So every
// setting gets processes of its own, and is measured under its name only after
// a run of which the log confirms it (package debuglog).
//
// Invariants: what is measured is what the trial names, or there is no
// measurement; results are checked, by nccl-tests itself or by us; nothing is left
// running after a trial.
//
// It does not choose among settings, and has no opinion on which is fast.
package nccl
