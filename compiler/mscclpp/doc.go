// Package mscclpp writes, reads and judges MSCCL++ execution plans
// (microsoft/mscclpp, JSON): it makes a plan of a program, and reports whether
// a plan, whoever wrote it, computes its collective, completes and has no race,
// and whether the runtime would load it.
//
//	IR ──Lower──▶ Plan ──Write──▶ JSON ──Read──▶ Plan ──structure──▶ machine ──run──▶ memory ──judge──▶ findings
//	                                             as written  numbers     cells and    │ data, and who waits
//	                                                         in range    counters     └─ watch: what comes before what
//
// Plans are one-sided. A threadblock writes, reads and reduces into buffers of
// other ranks and tells them so by signals: nothing pairs a message with its
// receiver, so package verify's model of connections does not hold here, and the
// package has its own.
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	  put    in[0] → gpu 1 sc[0]
//	  nop                            wait   for the signal
//	  signal                ──────▶  nop
//	                                 re     in[0] + sc[0] → in[0]
//
// # What orders what
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
// A chunk is cut into as many cells as threadblock groups and pipelines call
// for, and the plan is executed with a pass of each pipeline over a chunk, then
// with enough passes for its semaphores to run out and for scratch that the
// runtime uses over and over (reuse_resources) to come round.
//
// Invariants: a report is a function of the plan and the options; time and
// memory are bounded by limits.go, whoever wrote the plan; what is not followed
// is said in a finding that begins so.
//
// # Writing
//
// A program sends messages, and a plan writes into the memory of others. Lower
// orders a program's steps (graph.go), makes one of those that gather a sum
// (sums.go), finds for each message a place to land (landing.go), writes each step
// as operations (draft.go), cuts threadblocks at what the runtime has room for
// (parts.go), and makes one of those that only wait (join.go):
//
//	gpu 0 threadblock 0            gpu 1 threadblock 0
//	                               rlxsignal        it has begun: its memory is its own
//	rlxwait  ◀─────────────────────
//	nop
//	put    in[0] → gpu 1 out[0]                     where it is wanted: nobody else needs that place now
//	nop
//	signal ──────────────────────▶ wait
//
// What Lower does and what Verify finds have only the table of operations in
// common. What is written is verified before it is given to anybody.
//
// It does not know a fabric's links or nodes unless it is given a function.
package mscclpp
