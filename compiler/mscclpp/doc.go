// Package mscclpp writes, reads and verifies MSCCL++ execution plans
// (microsoft/mscclpp, JSON): it lowers a program to a plan, and reports whether
// any plan computes its collective, completes and has no race, and whether the
// runtime would load it.
//
//	IR ──Lower──▶ Plan ──Write──▶ JSON ──Read──▶ Plan ──structure──▶ machine ──run──▶ memory ──▶ findings
//	                                             as written  numbers     cells and    │ data and waits
//	                                                         in range    counters     └─ orderTracker: happens-before
//
// Files that begin with lower_ make plans, and those with verify_ execute them, in
// this order: structure, size, machine, resolve, run, transfer, order.
//
// Plans are one-sided. A threadblock writes, reads and reduces into buffers of
// other ranks and notifies them by signals. Messages have no receiver, so
// package verify's model of connections does not apply, and this package has
// its own.
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	  put    in[0] → gpu 1 sc[0]
//	  nop                            wait   for the signal
//	  signal                ──────▶  nop
//	                                 re     in[0] + sc[0] → in[0]
//
// # Memory order
//
// The threads of a threadblock run independently until a nop (or a barrier)
// synchronises them. A thread's wait orders the other threads only from the
// next nop on, and its signal covers only actions before the last nop: without
// the nops above, signal and put race, and so do wait and re. A relaxed signal
// or wait, and a packet, prove that an action ran, not that its writes are
// visible: that suffices to overwrite data that were read, but not to read data
// that were written. A port copies asynchronously, in order, before it signals;
// flush waits for it. Semaphores and signals are counters. If several
// threadblocks take from or post to one, only orders common to all
// interleavings count, and a race that this leaves open is a warning that says
// so. If two threads of a threadblock take from one counter within a phase,
// either may be first, which is an error if the phase contains anything else.
//
// A rank's own buffers belong to its caller before its kernel begins and after
// it ends. Other ranks may access them only if they know that the kernel has
// begun, and the kernel may end only after they have finished. Scratch persists
// between launches: the first write of a launch must come after all accesses of
// the one before.
//
// # Sizes
//
// A chunk is divided into the number of cells that threadblock groups and
// pipelines require. The plan is executed with one pass of each pipeline over a
// chunk, and then with enough passes to exhaust its semaphores and to wrap
// around in scratch that the runtime reuses (reuse_resources).
//
// Invariants: a report is a function of the plan and the options; time and
// memory are bounded by limits.go, for untrusted plans too; a finding states
// every part of a plan that was not verified.
//
// # Writing
//
// A program sends messages, and a plan writes into the memory of other ranks.
// Lower orders a program's steps (lower_graph.go), merges steps that add up one
// sum (lower_sums.go), chooses the place where each message lands
// (lower_landing.go), writes each step as operations (lower_draft.go), splits
// threadblocks that exceed the runtime's limits (lower_parts.go), and merges
// those that only wait (lower_join.go):
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	                               rlxsignal        its kernel has begun
//	rlxwait  ◀─────────────────────
//	nop
//	put    in[0] → gpu 1 out[0]                     the final place, which is unused by now
//	nop
//	signal ──────────────────────▶ wait
//
// Lower and Verify share only the table of operations, and the container of their
// clocks (counts.go). Every plan is verified before it is handed out.
//
// It knows links and nodes only through functions in the options.
package mscclpp
