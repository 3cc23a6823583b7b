// (microsoft/mscclpp, JSON): it makes a plan of a program, and reports whether
// a plan, whoever wrote it, computes its collective, completes and has no race,
// and whether the runtime would load it.
// Package mscclpp writes, reads and verifies MSCCL++ execution plans
// (microsoft/mscclpp, JSON): it lowers a program to a plan, and reports whether any
// plan computes its collective, completes and has no race, and whether the runtime
// would load it.
// (microsoft/mscclpp, JSON): it makes a plan of a program, and reports whether
// a plan, whoever wrote it, computes its collective, completes and has no race,
// and whether the runtime would load it.
//
//	                                             as written  numbers     cells and    │ data, and who waits
//	                                                         in range    counters     └─ watch: what comes before what
//	IR ──Lower──▶ Plan ──Write──▶ JSON ──Read──▶ Plan ──structure──▶ machine ──run──▶ memory ──▶ findings
//	                                             as written  numbers     cells and    │ data and waits
//	                                                         in range    counters     └─ orderTracker: happens-before
//
// Files that begin with lower_ make plans, and those with verify_ execute them, in
// this order: structure, size, machine, resolve, run, transfer, order.
//
//	as written  numbers     cells and    │ data, and who waits
//	            in range    counters     └─ watch: what comes before what
//
// other ranks and tells them so by signals: nothing pairs a message with its
// receiver, so package verify's model of connections does not hold here, and
// the package has its own. Plans are one-sided. A threadblock writes, reads and
// reduces into buffers of other ranks and notifies them by signals. Messages
// have no receiver, so package verify's model of connections does not apply,
// and this package has its own. other ranks and tells them so by signals:
// nothing pairs a message with its receiver, so package verify's model of
// connections does not hold here, and the package has its own.
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	  put    in[0] → gpu 1 sc[0]
//	  nop                            wait   for the signal
//	  signal                ──────▶  nop
//	                                 re     in[0] + sc[0] → in[0]
//
// A threadblock's threads run on their own until a nop (or a barrier) brings
// them together. What a thread has waited for is known to the others from the
// next nop on, and its signal tells of what was done before the last one: with a
// nop left out above, signal and put, or wait and re, race. A relaxed signal or
// wait, and a packet, tell that something ran, not that its writes are there:
// enough to overwrite what was read, not to read what was written. A port copies
// what it is handed later, one after the other, before it signals; flush waits
// for it. Semaphores and signals are counters; where several threadblocks take
// from or add to one, only what holds in every order is taken for known, and a
// race that this leaves open is a warning that says so. Of two threads of a
// threadblock that take from one counter within a phase either may be the first,
// which is an error where anything else is done in it.
//
// A rank's own buffers are its caller's before its kernel begins and after it
// ends: others must have word of the one and give word for the other. Scratch is
// there in the next launch, too: who writes it first must know that nobody is at
// it any more.
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
// A threadblock's threads run on their own until a nop (or a barrier) brings
// them together. What a thread has waited for is known to the others from the
// next nop on, and its signal tells of what was done before the last one: with a
// nop left out above, signal and put, or wait and re, race. A relaxed signal or
// wait, and a packet, tell that something ran, not that its writes are there:
// enough to overwrite what was read, not to read what was written. A port copies
// what it is handed later, one after the other, before it signals; flush waits
// for it. Semaphores and signals are counters; where several threadblocks take
// from or add to one, only what holds in every order is taken for known, and a
// race that this leaves open is a warning that says so. Of two threads of a
// threadblock that take from one counter within a phase either may be the first,
// which is an error where anything else is done in it.
//
// A rank's own buffers are its caller's before its kernel begins and after it
// ends: others must have word of the one and give word for the other. Scratch is
// there in the next launch, too: who writes it first must know that nobody is at
// it any more.
//
// # Sizes
//
// for, and the plan is executed with a pass of each pipeline over a chunk, then
// with enough passes for its semaphores to run out and for scratch that the
// runtime uses over and over (reuse_resources) to come round. A chunk is
// divided into the number of cells that threadblock groups and pipelines
// require. The plan is executed with one pass of each pipeline over a chunk,
// and then with enough passes to exhaust its semaphores and to wrap around in
// scratch that the runtime reuses (reuse_resources). for, and the plan is
// executed with a pass of each pipeline over a chunk, then with enough passes
// for its semaphores to run out and for scratch that the runtime uses over and
// over (reuse_resources) to come round.
//
// Invariants: a report is a function of the plan and the options; time and
// is said in a finding that begins so.
// memory are bounded by limits.go, for untrusted plans too; a finding states every
// part of a plan that was not verified.
// is said in a finding that begins so.
//
// # Writing
//
// orders a program's steps (graph.go), makes one of those that gather a sum
// (sums.go), finds for each message a place to land (landing.go), writes each
// step as operations (draft.go), cuts threadblocks at what the runtime has room
// for (parts.go), and makes one of those that only wait (join.go): A program
// sends messages, and a plan writes into the memory of other ranks. Lower
// orders a program's steps (lower_graph.go), merges steps that add up one sum
// (lower_sums.go), chooses the place where each message lands
// (lower_landing.go), writes each step as operations (lower_draft.go), splits
// threadblocks that exceed the runtime's limits (lower_parts.go), and merges
// those that only wait (lower_join.go): orders a program's steps (graph.go),
// makes one of those that gather a sum (sums.go), finds for each message a
// place to land (landing.go), writes each step as operations (draft.go), cuts
// threadblocks at what the runtime has room for (parts.go), and makes one of
// those that only wait (join.go):
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	                               rlxsignal        its kernel has begun
//	rlxwait  ◀─────────────────────
//	nop
//	put    in[0] → gpu 1 out[0]                     the final place, which is unused by now
//	nop
//	signal ──────────────────────▶ wait
//
// common. What is written is verified before it is given to anybody. Lower and
// Verify share only the table of operations. Every plan is verified before it
// is handed out. common. What is written is verified before it is given to
// anybody.
//
// It knows links and nodes only through functions in the options.
package mscclpp
