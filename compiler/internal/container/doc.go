// Package container has the compiler's containers of small numbers: queues, a pool of
// slices, a table of connections, and loops over ranges in parallel.
//
// They are written for programs of millions of instructions, in which everything is
// named by its index, an int32.
package container
