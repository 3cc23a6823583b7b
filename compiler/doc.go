// Package compiler turns a traced chunk program into IR a runtime interprets
// (GC3 sections 4 and 5).
//
//	copy rank 0 in[0] → rank 1 sc[0]        chunk dag
//	copy rank 1 sc[0] → rank 2 out[0]
//	        │
//	0 s   rank 0 in[0]          →1          instructions
//	1 r   rank 1 sc[0]          ←0
//	2 s   rank 1 sc[0]          →2  after 1
//	3 r   rank 2 out[0]         ←1
//	        │
//	0 s   rank 0 in[0]          →1          fused: 1 and 2 are one rcs
//	1 rcs rank 1 sc[0]          ←0 →2
//	3 r   rank 2 out[0]         ←1
//	        │
//	channels ▸ (depths ▸ order ▸ threadblocks ▸ place local ▸ synchronise ▸ slots) ▸ emit
//
// What stands in brackets is the schedule, which is made again until its slots suffice
// (compile.go; relax in pass_slots.go).
//
// The pipeline is the table in passes.go. Each pass is a file pass_NAME.go;
// dump.go prints the program between two of them.
//
// Words of this package:
//
//   - chain: a message and the fused instructions that pass it on, rank by rank;
//   - instance: one replica of the program, or of a parallelize scope;
//   - cell: one chunk of one buffer of one rank, numbered over the whole program;
//   - web: values in scratch that must keep their relative positions, as webs of
//     live ranges do in register allocation;
//   - tile: the part of a large message that a runtime processes at a time.
//
// Invariants, which hold after every pass and are checked between passes if
// Options.CheckEachPass is set: the order in which operations were traced is a
// topological order of both graphs; a message has one sender and one receiver;
// a connection (from, to, channel) is used by at most one threadblock at either
// end; in the schedule a message never waits for anything behind it, so that a
// program runs to its end with the FIFO slots it was compiled for.
//
// It does not check that a program computes its collective (package lang does,
// at the level of chunks) nor that the IR does (package verify, which shares no
// code with this one), and it knows no topology: limits are numbers.
package compiler
