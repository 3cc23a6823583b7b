package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/internal/container"
)

// use is a set of the ways in which the program uses a rank's buffer.
type use uint8

const (
	reads use = 1 << iota
	writes
	copyFrom // within the rank
	copyTo
	copyFromToRead    // copied to a buffer that is read
	copyToFromWritten // copied to from a buffer that is written
)

// uses returns the use of every buffer, by rank and buffer.
func (prog *program) uses() [][3]use {
	all := make([][3]use, prog.col.Ranks)
	for i := range prog.ops {
		o := &prog.ops[i]
		from, to := &all[o.src][o.srcBuf], &all[o.dst][o.dstBuf]
		*from |= reads
		*to |= writes
		switch {
		case o.reduce:
			all[o.dst][o.with().buf] |= reads
		case o.copies():
			*from |= copyFrom
			*to |= copyTo
		}
	}
	for i := range prog.ops {
		o := &prog.ops[i]
		if !o.copies() {
			continue
		}
		from, to := &all[o.src][o.srcBuf], &all[o.dst][o.dstBuf]
		if *to&reads != 0 {
			*from |= copyFromToRead
		}
		if *from&writes != 0 {
			*to |= copyToFromWritten
		}
	}
	return all
}

// chunkTable maps every chunk of certain buffers to an entry. Buffers outside
// the table have no entries.
type chunkTable[T any] struct {
	first   [][3]int // by rank and buffer: index of its first entry; none if it has no entries
	entries []T
}

// newChunkTable returns a table of the buffers that are used in all of the
// given ways, with zero entries.
func newChunkTable[T any](prog *program, uses [][3]use, all use) chunkTable[T] {
	first, n := tableLayout(prog, uses, all)
	return chunkTable[T]{first: first, entries: make([]T, n)}
}

// tableLayout returns the index of each buffer's first entry and the number of
// entries.
func tableLayout(prog *program, uses [][3]use, all use) (first [][3]int, n int) {
	first = make([][3]int, len(uses))
	for r := range uses {
		for b := range uses[r] {
			first[r][b] = none
			if uses[r][b]&all == all {
				first[r][b] = n
				n += prog.size(int32(r), collective.Buffer(b))
			}
		}
	}
	return first, n
}

// newIndexTable returns a table of indices, all none. The caller gives its
// entries back to the pool.
func newIndexTable(prog *program, uses [][3]use, all use) chunkTable[int32] {
	first, n := tableLayout(prog, uses, all)
	return chunkTable[int32]{first: first, entries: fill(prog.pool.Take(n), none)}
}

// newLastWriters returns a table of the operations that write each chunk last, or none.
// The caller gives its entries back to the pool.
func newLastWriters(prog *program, uses [][3]use, all use) chunkTable[int32] {
	last := newIndexTable(prog, uses, all)
	for n := range prog.ops {
		_, dst := prog.ops[n].ends()
		last.set(prog.ops[n].dst, dst, int32(n))
	}
	return last
}

// of returns the entries from the first of the chunks to the last, including
// those between strided chunks. It is nil if the table is empty or lacks the
// buffer.
func (l *chunkTable[T]) of(rank int32, c chunks) []T {
	if l.first == nil {
		return nil
	}
	first := l.first[rank][c.buf]
	if first == none {
		return nil
	}
	return l.entries[first+int(c.off) : first+int(c.end())]
}

// set sets the entries of some chunks. It does nothing if the table lacks their
// buffer.
func (l *chunkTable[T]) set(rank int32, c chunks, entry T) {
	at := l.of(rank, c)
	if c.stride == 1 {
		for k := range at {
			at[k] = entry
		}
		return
	}
	for k := 0; k < len(at); k += int(c.stride) {
		at[k] = entry
	}
}

func contains[T comparable](l *chunkTable[T], rank int32, c chunks, entry T) bool {
	at := l.of(rank, c)
	if c.stride == 1 {
		return slices.Contains(at, entry)
	}
	for k := 0; k < len(at); k += int(c.stride) {
		if at[k] == entry {
			return true
		}
	}
	return false
}

// fill sets all elements to the same value and returns the slice.
func fill(all []int32, with int32) []int32 {
	for i := range all {
		all[i] = with
	}
	return all
}

// markLiveOut marks the chunks that the caller may read after the collective:
// results, and its input.
func markLiveOut(l *chunkTable[bool], prog *program) {
	container.Ranges(prog.col.Ranks, len(l.entries), func(from, to int) {
		for r := from; r < to; r++ {
			if l.first[r][collective.In] == none && l.first[r][collective.Out] == none {
				continue
			}
			mark := func(b collective.Buffer, n int, wanted func(i int) bool) {
				b, off := prog.col.Place(r, b, 0)
				if l.first[r][b] == none {
					return
				}
				for i := range n {
					at := &l.entries[l.first[r][b]+off+i]
					*at = *at || wanted == nil || wanted(i)
				}
			}
			mark(collective.Out, prog.col.OutChunks(r), wanted(prog.col, r))
			mark(collective.In, prog.col.InChunks(r), nil)
		}
	})
}

// wanted returns a function that reports whether an output chunk of a rank has to hold
// something; nil if all do.
func wanted(c collective.Collective, rank int) func(i int) bool {
	if !c.Partial() {
		return nil
	}
	return func(i int) bool { return c.Want(rank, i).Kind != collective.WantNothing }
}
