// Package lang is the chunk language of GC3 section 3: a program moves
// references to chunks between the buffers of ranks, and its operations are
// traced.
//
//	t := lang.NewTrace("sum", coll)                   // allreduce in place, 2 ranks
//	a, err := t.Chunk(0, collective.In, 0, 1, 1)      // chunk 0 of rank 0's input
//	b, err := t.Chunk(1, collective.In, 0, 1, 1)
//	b, err = b.Reduce(a, -1)                          // rank 1: own ⊕ rank 0's
//	_, err = b.Copy(0, collective.In, 0, -1)          // and back, any channel
//	p, err := t.Finish()                              // postcondition checked
//
// A program of millions of operations can avoid allocating references with
// ChunkTo, CopyTo and ReduceTo. Splitting and grouping references moves no
// data. A program may have several named scratch buffers.
//
// Invariants: only the latest reference to a place can be used; reading an
// uninitialised chunk is an error; every error has the position of the
// statement that caused it; a finished program satisfies its collective's
// postcondition, chunk by chunk.
//
// It knows no instructions and no threadblocks. It knows links only through the
// function given to SetLinked.
package lang
