// Package sim is the simulator, the default executor: it interprets an IR program on a
// modelled GPU system and computes its time in microseconds.
//
//	threadblock A          edge                threadblock B
//	  send ──flow──▶ [capacity shared] ──▶ slot ──latency──▶ recv
//	    ▲                                                     │
//	    └───────────────── credit: the slot is free ◀─────────┘
//
// Every threadblock is a sequential machine: for each tile, for each step, for
// each call. What it sends is a flow over the edges of a path; flows slow each
// other down where they share an edge. Receives, credits, dependencies and
// local work are arithmetic on times that are already known (local work is a flow
// where the GPU's memory has a rate), so that only the starts and ends of flows,
// and the flags other threadblocks wait for, are events of the queue.
//
//	prepare.go  program and topology, flattened      flows.go   edges and rates
//	fold.go     what does the same, kept once        queue.go   the event queue
//	refine.go   the classes of what does the same    tiles.go   the tile loop, cut short
//	costs.go    the cost of a call, by size          bound.go   lower bounds
//	engine.go   threadblocks and the event loop      critical.go the longest chain
//	passes.go   LL and LL128 calls                   memory.go  traffic over a GPU's memory
//	slices.go   Simple calls                         record.go  what each time consists of
//	explain.go  why a call takes its time            changes.go what would help
//	utilisation.go  how much of each resource a call uses
//	trace.go    what happens when, for Perfetto
//
// Invariants: the same program, topology and knobs give the same time, bit for
// bit; LowerBound is never above Run; renaming ranks, threadblocks or channels
// changes nothing. docs/reference has the rules, the constants and the errors.
//
// It does not move data, check results, or judge whether a runtime would load
// the program.
package sim
