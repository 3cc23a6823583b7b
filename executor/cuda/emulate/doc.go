// Package emulate is a GPU for tests: it executes the text of PTX in Go, behind
// the functions of the driver's library, so that the executor's own way of
// loading modules, packing parameters and launching grids is what drives it.
//
//	text ─▶ module ────────▶ grid ─────────────▶ blocks, warps, threads
//	scan    declarations     driver's launches    registers, predicates,
//	parse   instructions,    a stream after       barriers, memory
//	        each a function  another
//
//	scan.go, parse.go       text to statements       memory.go   spaces, bounds, alignment
//	decode.go, access.go    statements to functions  weak.go     stores that others see late
//	arithmetic.go           the table of operations  warp.go     who runs together
//	half.go                 half precision           barrier.go  where they meet
//	library.go, calls.go    libcuda's functions      grid.go     who runs next, by a seed
//	streams.go              modules, launches, graphs
//	timing.go, timeline.go  how long a launch would take, by a model, and on
//	arrive.go               what way: instructions, loads, flags, fences
//
// It refuses what it does not know, by name and line: an instruction, a modifier,
// a directive. It finds what a host build cannot: accesses that are not aligned
// to their width or lead outside what was allocated, barriers that not all
// threads of a warp come to, registers and stack that were never written, sums of
// sizes that a device would refuse.
//
// Threads of a warp are not together by nature. Those that come out of one
// barrier of the warp or block run in step until a branch parts them, as an
// aligned access of several lanes needs them to, and are never put together again
// before the next. Which of those that are apart runs next, and how far, is drawn
// from a seed: the same seed gives the same run.
//
// Memory is one that all see at once, or, where Machine.Weak is set, one in which
// a block's plain stores reach others late and out of order, and its plain loads
// may be stale, until fences and acquiring loads say otherwise: weaker than what
// the hardware does, stronger than what PTX's memory model allows.
//
// No binary that users get contains it: only tests import it. How long something
// takes on a GPU it does not say: its clock counts instructions, or, where
// Machine.Costs are given, what a model of a multiprocessor makes of them.
package emulate
