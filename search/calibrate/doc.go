// Package calibrate fits a topology's numbers to what the vendor's library was
// measured to take on the system that it describes.
//
//	nccl-tests' table ──▶ times ───────────────────────────────┐
//	                                                           ├──▶ Fit ──▶ launch + 5.7 us, threadblocks × 0.94
//	library's choice at each size ──▶ programs ──▶ the simulator ┘
//
// Three kinds of number are fitted, because a table of times can tell them apart:
// what every call takes before its first byte, which small messages show; how fast
// a threadblock sends and receives; and the bandwidth of each kind of link, which
// large messages show. All other constants stay.
//
// Several tables, of any collectives and numbers of nodes, are fitted at once, each
// with the same weight.
//
// Invariants: the fit is a function of the topology and the times, whatever the
// number of jobs; the sum of errors is never larger after than before; a number is
// left alone unless changing it makes the errors clearly smaller; no link becomes
// faster than the file says.
//
// It does not read or write files (search and topologies do), and it does not find
// out which algorithm the library really ran: that is what the library's own model
// says.
package calibrate
