// Package nccl is the executor of a communication library, NCCL or RCCL: its own
// algorithms, protocols and settings, and MSCCL programs where the library reads them.
//
//	trial{ring, LL128, channels=8} ──▶ NCCL_ALGO=Ring NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=8 …
//	                                      │
//	        LAUNCHER env … all_reduce_perf -b SIZE -e SIZE …   once with NCCL_DEBUG=INFO: did it obey?
//	                                      │                    then without, to be timed
//	  measurement ◀── nccltests.Parse ────┘
//
// That is for clusters (launched.go). On one host without nccl-tests the library is loaded
// into a child process (onehost.go, worker.go, bench.go) with a communicator for each GPU,
// timed with events and checked against package data.
//
// The library reads its environment once a process. What it can't do it replaces by
// something else, and says so only in its log. So every setting gets processes of its own,
// and is measured only after a run whose log confirms it (confirm.go, package debuglog).
//
// Invariants: a measurement is of the algorithm, protocol and settings that the trial
// names; results are checked, by nccl-tests or by us; nothing is left running after a
// trial.
//
// It does not choose among settings.
package nccl
