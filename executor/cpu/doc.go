// Package cpu is an executor on the processors of this machine: it interprets
// an IR program with real buffers, checks every element of the result, and
// times it.
//
//	rank 0                                    rank 1
//	  threadblock 0 ─▶ ┌ slot ┬ slot ┐ ─tail─▶  threadblock 0 ── flag ─┐
//	  (a goroutine)    └──────┴──────┘ ◀─head─                         ▼
//	                     a connection           threadblock 1 waits for its step
//
// A threadblock runs all its steps for a tile, then for the next. It sends through slots
// of its connection in the form of the protocol: Simple copies slices and moves a counter,
// LL stores words of four bytes and a flag of four, LL128 lines of 120 bytes and a flag of
// eight, and the receiver polls those flags. A fused instruction receives, reduces, stores
// and sends each piece in one pass.
//
//	plan.go        the program, its ends connected     connection.go  slots and protocols
//	run.go         memory, iterations, results         cursor.go      chunks as messages
//	block.go       the interpreter                     counter.go     counters and semaphores
//	watchdog.go    deadlocks, found without a clock    limit.go       how much memory there is
//
// Invariants: inputs are fresh and outputs poisoned before the first and the last
// iteration, and every element is compared after both (executor/data); a program that
// can't end is an error that names the threadblocks that wait; a trial that does not fit
// into free memory is refused.
//
// It does not verify programs: a wrong one gives wrong elements, which it counts.
package cpu
