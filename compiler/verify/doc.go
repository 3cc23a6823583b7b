// Package verify executes an IR program and reports its faults: wrong results,
// deadlocks, races, malformed steps (GC3 sections 5 and 6).
//
//	structure ▸ connections ▸ run ▸ slots · races · data, in parallel
//	  places,     k-th send     order,  a call    unordered    the value
//	  peers,      is received   cycles  for each  conflicting  of every
//	  dependencies   k-th               chunk     accesses     output
//
// # Why one tile is enough
//
// A runtime runs the steps of tile 0, then those of tile 1, and so on, while
// other threadblocks may be tiles ahead. Every threadblock sends and receives
// the same messages in each tile, so message k of tile t on a connection is
// received as message k of tile t. All waiting goes from a tile to the same or
// an earlier one: program order, messages, dependencies, and a sender waiting
// for the slot that an earlier message leaves. A cycle of waits therefore lies
// within one tile, and the program deadlocks at some number of tiles if and
// only if it deadlocks at one. The exception is a dependency that no step of
// its tile meets: the last tile waits for ever, so it counts as never met. Each
// tile has its own part of the buffers, so data and races are also confined to
// a tile.
//
// # Slots
//
// A connection holds as many primitive calls as it has slots; a step of count c
// makes between 1 and c calls. Whether a program completes does not depend on
// the schedule (threadblocks are deterministic, waiting is monotone), so one
// run that adds a slot whenever all threadblocks are blocked finds the least
// number. One call a step needs the fewest slots and one call a chunk the most:
// every division in between needs no more than the latter.
//
// # Races
//
// Happens-before consists of program order, messages and dependencies. Waiting
// for a slot orders nothing, since with more slots the sender would not have
// waited. Two accesses of a chunk from two threadblocks, one of them a write,
// must be ordered.
//
// Invariants: the package knows the IR and the collectives, and shares no code
// with the passes that make programs; a report is a function of the program and
// the options; time and memory are bounded by the program's size and the limits
// in limits.go, for untrusted programs too.
//
// It knows links only through Options.Linked, and no runtime's limits: see
// package msccl.
package verify
