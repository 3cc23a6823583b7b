// Package lang is the chunk language of GC3 section 3: a program moves
// references to chunks between the buffers of ranks, and what it did is traced.
//
//	t := lang.NewTrace("ring", coll)
//	c := t.Chunk(1, collective.In, 0, 1)      // chunk 0 of rank 1's input
//	c = t.Chunk(2, collective.In, 0, 1).Reduce(c) // rank 2: own ⊕ arrived
//	p, err := t.Finish()                      // postcondition checked
//
// Invariants: only the latest reference to a place can be used, reading what
// nothing wrote is an error, and every error carries the line of the program
// that made it; a finished program satisfies its collective's postcondition at
// the level of chunks.
//
// It knows no instructions, threadblocks or links but the caller's function
// that says which ranks are linked.
package lang
