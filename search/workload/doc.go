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
// A step is a graph: an op begins when the op before it on its stream and those of its list
// after have ended. Its time is the longest path, so that a faster call never makes a step
// slower, and the least and greatest times of calls bound it. A library on the host, not
// aware of streams, is the exception: the host waits for its calls before it issues more.
//
// Invariants: the order of calls is one for all ranks, and a cycle in what they wait for is
// an error that names them; a call that a library lacks is made by another one only where
// that is said; reading is bounded, and an error names file and line.
//
// Left out: calls in progress at the same time do not slow each other or the computes beside
// them, so that only those should be put on streams of their own which share no link.
// docs/workload.md works a step by hand.
//
// Files, in an order to read them in: step.go expression.go file.go graph.go source.go
// mix.go schedule.go trace.go pytorch.go chakra.go nccllog.go
package workload
