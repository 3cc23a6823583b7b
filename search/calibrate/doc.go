// Package calibrate fits a topology's numbers to what was measured on the system that it
// describes: calls of the vendor's library, and programs.
//
//	nccl-tests' table ─▶ times, and the library's choice at each size ─┐          ┌─ half ──▶ fit ──▶ launch + 5.7 us, nvlink × 0.94
//	run -o json, campaign ─▶ times, and the programs that ran ─────────┴─▶ rows ──┴─ half ──▶ judge ──▶ taken, or not
//
// Three kinds of number are fitted, because times can tell them apart: what every call
// takes before its first byte, which small messages show; the bandwidth of each kind of
// link, which large messages show; and how fast a threadblock sends and receives. All
// other constants stay.
//
// A row's origin is the library or a program. What the library ran is known by its cost
// model alone, so its rows never change the speed of threadblocks, nor a constant that the
// topology's sources have from programs, unless there are rows of programs as well.
//
// Several tables, of any collectives and numbers of nodes, are fitted at once, each
// with the same weight.
//
// Invariants: the fit is a function of the topology and the rows, whatever the
// number of jobs; with it neither the library's nor the programs' errors are larger, in
// either half, than without; a number is left alone unless changing it makes the errors
// clearly smaller; each is within the limits of bounds.go.
//
// It does not read or write files (search and topologies do), and it does not find
// out which algorithm the library really ran: that is what the library's own model
// says.
//
//	rows.go      origins, halves, errors
//	bounds.go    what physics says of the constants
//	simulate.go  the rows' times
//	search.go    the nearest constants
//	fit.go       what is fitted, and judged
package calibrate
