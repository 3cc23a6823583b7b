// Package lang is the chunk language of GC3 section 3: a program moves
// references to chunks between the buffers of ranks, and what it did is traced.
//
//	t := lang.NewTrace("sum", coll)                   // allreduce in place, 2 ranks
//	a, err := t.Chunk(0, collective.In, 0, 1, 1)      // chunk 0 of rank 0's input
//	b, err := t.Chunk(1, collective.In, 0, 1, 1)
//	b, err = b.Reduce(a, -1)                          // rank 1: own ⊕ rank 0's
//	_, err = b.Copy(0, collective.In, 0, -1)          // and back, any channel
//	p, err := t.Finish()                              // postcondition checked
//
// A program of millions of operations writes its references to a place of its own
// (ChunkTo, CopyTo, ReduceTo). A reference is split and grouped without moving
// anything, and a program may have scratch buffers of several names.
//
// Invariants: only the latest reference to a place can be used, reading what
// nothing wrote is an error, and every error carries the line of the program
// that made it; a finished program satisfies its collective's postcondition at
// the level of chunks.
//
// It knows no instructions, threadblocks or links but the caller's function
// that says which ranks are linked.
package lang
