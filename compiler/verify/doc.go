// Package verify executes an IR and says what is wrong with it: the result, a
// deadlock, a race, or the file itself (GC3 sections 5 and 6).
//
//	structure ▸ connections ▸ run ▸ slots · races · data, side by side
//	  places,     k-th send     order,  a call   conflicting   what
//	  peers,      meets k-th    cycles  for each accesses that every output
//	  dependencies   receive            chunk    nothing orders  holds
//
// # Why one tile is enough
//
// A runtime runs the steps of tile 0, then those of tile 1, and so on, while
// other threadblocks may be tiles ahead. Every threadblock sends and receives
// the same messages in each tile, so message k of tile t on a connection is
// received as message k of tile t. All waiting goes from a tile to the same or
// an earlier one: program order, messages, dependencies, and a sender waiting
// for the slot that an earlier message leaves. A circle of waiting therefore
// lies within one tile, and the program deadlocks at some number of tiles if
// and only if it deadlocks at one. What does not hold in one tile only is a
// dependency that nothing in its tile meets: the last tile waits for ever, so
// it counts as never met. Buffers have their own part for each tile, so data
// and races are a matter of one tile too.
//
// # Slots
//
// A connection holds as many primitive calls as it has slots; a step of count
// c makes between 1 and c calls. Whether a program completes does not depend
// on the schedule (threadblocks are deterministic, waiting is monotone), so one
// run that adds a slot whenever all stand still finds the least number. One
// call a step needs the fewest slots and one call a chunk the most: every
// division in between needs no more than the latter.
//
// # Races
//
// Happens-before is made of program order, messages and dependencies. That a
// sender had to wait for a slot orders nothing: with more slots it would not
// have waited. Two accesses of a chunk from two threadblocks, one of them a
// write, must be ordered.
//
// Invariants: the package knows the IR and the collectives, and shares no code
// with the passes that make programs; a report is a function of the program and
// the options; time and memory are bounded by the program's size and the
// limits in limits.go, whoever wrote the program.
//
// It does not know links unless it is given a function, nor a runtime's limits:
// those are package msccl's.
package verify
