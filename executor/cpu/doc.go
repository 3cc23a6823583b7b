// Package cpu is an executor on the processors of this machine: it interprets
// an IR program with real buffers, checks every element of the result, and
// times it.
//
//	rank 0                                    rank 1
//	  threadblock 0 ─▶ ┌ slot ┬ slot ┐ ─tail─▶  threadblock 0 ── flag ─┐
//	  (a goroutine)    └──────┴──────┘ ◀─head─                         ▼
//	                     a connection           threadblock 1 waits for its step
//
// A threadblock runs all its steps for a tile, then for the next. What it sends
// goes into slots of its connection as the protocol has it: Simple copies
// slices and moves a counter, LL stores words of four bytes and a flag of four,
// LL128 lines of 120 bytes and a flag, and the receiver looks at those flags. A
// fused instruction receives, reduces, stores and sends each piece in one pass.
//
//	plan.go        the program, checked and joined     connection.go  slots and protocols
//	run.go         memory, iterations, results         cursor.go      chunks as messages
//	block.go       the interpreter                     counter.go     what is waited for
//	watchdog.go    deadlocks, found without a clock    room.go        how much memory there is
//
// Launched as several processes, each runs its part of the ranks (part.go). One of
// them leads (leader.go), crew.go has what they tell each other, and transport.go
// carries slots between them over package mpi.
//
// Invariants: inputs are new and outputs poisoned before the first and the last
// iteration, and every element is compared after both (executor/data); a program
// that can't end is an error that names who waits for what; nothing is
// allocated that the machine has no memory for.
//
// It does not verify programs: a wrong one gives wrong elements, and says so.
package cpu
