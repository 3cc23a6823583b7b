// Package ptxtest is a GPU for tests: it executes the text of PTX in Go, behind
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
//
// It finds what a host build cannot: accesses that are not aligned to their width
// or lead outside what was allocated, barriers that not all threads of a warp come
// to, registers and stack that were never written, sums of sizes that a device
// would refuse.
//
// Threads of a warp need not run together. Those that leave a barrier of the warp
// or block together run in step until they take different branches, as an aligned
// access by several lanes requires, and meet again only at the next barrier. Which
// of several groups runs next, and how far, is drawn from a seed.
//
// All threads see the same memory at once. With Machine.Weak set, a block's plain
// stores reach other blocks late and out of order, and its plain loads may be stale,
// until fences and acquiring loads say otherwise: weaker than the hardware, stronger
// than PTX's memory model allows.
//
// Invariants: the same text and seed give the same run; an instruction, modifier or
// directive that is not known is refused with its name and line, never guessed.
//
// Only tests import it. Its clock counts instructions, and says nothing about a
// GPU's time.
package ptxtest
