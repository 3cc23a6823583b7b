// Package calibrate fits a topology's numbers to what was measured on the system that it
// describes: calls of the vendor's library, and programs.
//
//	rows measured ───▶ times, and the library's choice at each size ───┐          ┌─ half ──▶ fit ──▶ launch + 5.7 us, nvlink × 0.94
//	run, campaign ───▶ times, and the programs that ran ───────────────┴─▶ rows ──┴─ half ──▶ judge ──▶ taken, or not
//
// Three kinds of number are fitted, because times can tell them apart: what every call
// takes before its first byte, which small messages show; the bandwidth of each kind of
// link, which large messages show; and how fast a threadblock sends and receives. All
// other constants stay.
//
// A row's origin is the library or a program. Of a program every instruction is known, so
// its rows tell every constant. What the library ran is known by its cost model alone: its
// rows tell the launch where they are short, and a link where their time grows as their
// size does; the speed of threadblocks only where the topology's sources guess it, and never a
// constant that they have from programs.
//
// Several tables, of any collectives and numbers of nodes, are fitted at once, each
// with the same weight.
//
// Invariants: the fit is a function of the topology and the rows, whatever the
// number of jobs; with it neither the library's mean error nor the programs' is larger than
// without, in either half, nor that of a band of sizes beyond what measuring again would
// change or half of what all sizes gain; a number is left alone unless changing it makes the errors clearly smaller; each
// is within the limits of bounds.go.
//
// It does not read the files themselves (executor/measured does) nor write any
// (topologies does), and it does not find out which algorithm the library really ran: that is
// what the library's own model says.
//
//	read.go      tables of what was measured: which times count, and with what ran
//	rows.go      origins, halves, errors
//	bounds.go    what physics says of the constants
//	simulate.go  the rows' times
//	told.go      which rows tell which constants
//	search.go    the nearest constants
//	fit.go       the fit, and its judges
//	number.go    what it changes
package calibrate
