// Package workload says how long a training or inference step takes with each communication
// library alone, with one library for each collective, and with the fastest library for each
// call (MCR-DL, sections V and VI-B).
//
//	file of a step, traces ──Read──▶ Step{programs of calls and computes on streams}
//	                                  │       tables, campaigns ──▶ Source{times of a call}
//	                                  └──────────Compare◀──────────────┘
//	                                                │
//	                 Result{each alone, coarse, fine: times, intervals, schedule}
//
// A step is a graph: an op begins when the op before it on its stream, the one before it on
// its communicator, and those of its list after have ended. Calls that are in progress at the
// same time share their links; where they share nothing, a step's time is the longest path,
// which is the least that it can take. The host waits for the calls of a library that is not
// aware of streams before it issues more.
//
// Invariants: the order of calls is one for all ranks, and a cycle in what they wait for is
// an error that names them; a call that a library lacks is made by another one only where
// that is said; a time that no measurement supports wins no call of one that has support;
// reading is bounded, and an error names file and line.
//
// Left out: which links a call uses, and that calls slow the computes beside them.
// docs/workload.md works a step by hand.
//
// Files, in an order to read them in: step.go expression.go file.go graph.go share.go
// source.go mix.go schedule.go trace.go pytorch.go chakra.go nccllog.go
package workload
