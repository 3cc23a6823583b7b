// Package ptxtest is a GPU for tests: it executes PTX in Go, behind the functions of the
// driver's library, so that tests run the executor's own code for loading modules, packing
// parameters and launching grids.
//
//	text ─▶ module ────────▶ grid ─────────────▶ blocks, warps, threads
//	scan    declarations     driver's launches    registers, predicates,
//	parse   instructions,    a stream after       barriers, memory
//	        each a function  another
//
//	scan.go, parse.go       text to statements       memory.go   spaces, bounds, alignment
//	decode.go, access.go    statements to functions  weak.go     stores that become visible late
//	arithmetic.go           the table of operations  warp.go     threads in step, divergence
//	half.go                 half precision           barrier.go  barriers of warps and blocks
//	library.go, calls.go    libcuda's functions      grid.go     the scheduler, by a seed
//	streams.go              modules, launches, graphs
//
// It finds errors that a host build cannot: misaligned accesses, accesses outside of
// allocations, barriers that not all threads of a warp reach, reads of registers and stack
// that were never written, launches that a device would refuse.
//
// Threads of a warp run in step from a barrier of the warp or block until they take
// different branches, as accesses by several lanes require, and converge only at the next
// barrier. Which of several groups runs next, and how far, is drawn from a seed.
//
// By default all threads see stores at once. With Machine.Weak set, a block's plain stores
// reach other blocks late and out of order, and its plain loads may be stale, until fences
// and acquiring loads: weaker than the hardware, stronger than PTX's memory model.
//
// Invariants: the same text and seed give the same run; an unknown instruction, modifier
// or directive is an error with its name and line.
//
// Only tests import it. Its clock counts instructions, and says nothing about a
// GPU's time.
package ptxtest
