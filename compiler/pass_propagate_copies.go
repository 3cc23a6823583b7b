package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// propagateCopies lets operations that read a copy read the original instead,
// and removes copies that are then no longer read.
//
//	0 copy rank 1 in[0] → rank 1 out[0]         0 reduce rank 0 in[0] → rank 1 out[0] with in[0]
//	1 reduce rank 0 in[0] → rank 1 out[0]
//
// Programs that reduce out of place begin with such copies, because they reduce
// into a buffer they may overwrite. A receiving reduction has two places: it
// adds the arriving data to the value at one, and stores the sum at the other.
//
// The original must never be overwritten later. Its readers then wait for less
// than before, and nothing waits for them. Chunks that are contiguous in the
// copy must be contiguous in the original too, for runtimes without strides. A
// sum that overwrites the copy may also read an original that is overwritten
// later, if the overwriting operation waits for that sum anyway
// (dependency_chain.go). It may read scratch too; other readers would extend
// the value's live range and so need more scratch:
//
//	0 copy rank 1 in[0] → rank 1 sc[0]
//	1 reduce rank 0 in[0] → rank 1 sc[0]        0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]
//	2 copy rank 1 sc[0] → rank 1 in[0]          1 reduce rank 2 in[0] → rank 1 in[0] with sc[0]
//	3 reduce rank 2 in[0] → rank 1 in[0]
//
// A reduction within a rank has a single place for operand and result, so it still
// needs its copy.
//
// A copy is removed if it is dead: no operation reads it before it is
// overwritten, and it is neither a result nor in the caller's input.
func propagateCopies(prog *program) error {
	f := &copyPropagation{prog: prog, uses: prog.uses()}
	copies := func(own [3]use) bool { return (own[0]|own[1]|own[2])&copyTo != 0 }
	if !slices.ContainsFunc(f.uses, copies) || prog.touched() > maxTouched {
		return nil
	}
	base, _, err := prog.cellBases()
	if err != nil {
		return err
	}
	f.base = base
	f.redirectReads()
	prog.pool.Give(f.lastWriter.entries, f.source.entries, f.copiedBy.entries, f.chain.pred, f.chain.writer.entries, f.chain.tentative.entries)
	f.removeDeadCopies()
	return nil
}

// copies reports whether the operation is a copy within a rank.
func (o *op) copies() bool { return o.local() && !o.reduce }

// copyPropagation is the state of the pass. Its tables cover only the buffers
// named at each.
type copyPropagation struct {
	prog       *program
	uses       [][3]use
	base       [][3]int          // first cell of each buffer, by rank and buffer
	lastWriter chunkTable[int32] // of buffers that are copied from, to be read there: the last operation ever to write the chunk, or none; made by neverOverwritten
	source     chunkTable[int32] // of buffers that are copied to: the cell it is a copy of, or none
	copiedBy   chunkTable[int32] // of buffers that are copied to: the operation that made the copy
	copies     [][3]reach        // by rank and buffer: between them lie the copies
	read       chunkTable[bool]  // of buffers that are copied to: a later operation reads it
	chain      dependencyChain
}

// redirectReads visits the operations in order and redirects their reads to
// originals.
func (f *copyPropagation) redirectReads() {
	f.copies = make([][3]reach, len(f.uses))
	f.source = newIndexTable(f.prog, f.uses, copyTo|reads)
	f.copiedBy = newIndexTable(f.prog, f.uses, copyTo|reads)
	overwrites := func(u use) bool { return u&(copyFromToRead|writes) == copyFromToRead|writes }
	if slices.ContainsFunc(f.uses, func(own [3]use) bool { return slices.ContainsFunc(own[:], overwrites) }) {
		f.chain = newDependencyChain(f)
	}
	for i := range f.prog.ops {
		o := &f.prog.ops[i]
		src, dst := o.ends()
		if copied, ok := f.original(o.src, src); ok && copied.buf != collective.Scratch && f.neverOverwritten(o.src, copied, int32(i)) {
			src = copied
			o.setPlaces(src, dst)
		}
		if o.reduce && !o.local() {
			if copied, ok := f.original(o.dst, dst); ok && !copied.intersects(dst) && (f.neverOverwritten(o.dst, copied, int32(i)) || f.chain.readTentatively(o.dst, copied, int32(i))) {
				o.setWith(copied)
			}
		}
		f.chain.recordWrite(int32(i))
		sources, since := f.source.of(o.dst, dst), f.copiedBy.of(o.dst, dst)
		known := &f.copies[o.dst][dst.buf]
		if o.copies() {
			known.add(dst)
		}
		if sources == nil || !known.meets(dst) {
			continue
		}
		for k := range o.count {
			at := k * dst.stride
			sources[at], since[at] = none, int32(i)
			if o.copies() {
				sources[at] = f.originCell(o.src, src.nth(k), int32(i))
			}
		}
	}
}

// neverOverwritten reports whether neither operation i nor any later one
// overwrites the chunks.
func (f *copyPropagation) neverOverwritten(rank int32, c chunks, i int32) bool {
	if f.uses[rank][c.buf]&writes == 0 {
		return true
	}
	if f.lastWriter.first == nil { // few programs need it
		f.lastWriter = newLastWriters(f.prog, f.uses, copyFromToRead|writes)
	}
	last := f.lastWriter.of(rank, c)
	for k := 0; k < len(last); k += int(c.stride) {
		if last[k] >= i {
			return false
		}
	}
	return true
}

// originCell returns the cell that a chunk copied by operation i is itself a
// copy of. If it is no copy, or the original will be overwritten, that is the
// chunk's own cell.
func (f *copyPropagation) originCell(rank int32, c chunks, i int32) int32 {
	if from, ok := f.original(rank, c); ok && f.neverOverwritten(rank, from, i) {
		c = from
	}
	return int32(f.base[rank][c.buf]) + c.off
}

// original returns the original of some chunks, if they are all copies of one
// reference that has not been overwritten since and is contiguous where they
// are.
func (f *copyPropagation) original(rank int32, c chunks) (from chunks, ok bool) {
	if !f.copies[rank][c.buf].meets(c) {
		return from, false
	}
	sources := f.source.of(rank, c)
	if sources == nil || sources[0] == none {
		return from, false
	}
	first := sources[0]
	from = chunks{collective.In, 0, c.count, c.stride}
	if from.count > 1 && sources[c.stride] == first+1 {
		from.stride = 1
	}
	for k := range c.count {
		if sources[k*c.stride] != first+k*from.stride {
			return from, false
		}
	}
	if from, ok = f.prog.fromCell(f.base, rank, first, from.count, from.stride); !ok {
		return from, false
	}
	since, writer := f.copiedBy.of(rank, c), f.chain.writer.of(rank, from)
	for k := int32(0); k < c.count && writer != nil; k++ {
		if writer[k*from.stride] > since[k*c.stride] {
			return from, false
		}
	}
	return from, true
}

// removeDeadCopies visits the operations from last to first, tracking which
// copies are live, and removes the others. A partly live copy keeps the range
// from its first live chunk to its last, so that it remains one step.
func (f *copyPropagation) removeDeadCopies() {
	f.read = newChunkTable[bool](f.prog, f.uses, copyTo)
	prog := f.prog
	markLiveOut(&f.read, prog)
	dropped := false
	for i := len(prog.ops) - 1; i >= 0; i-- {
		o := &prog.ops[i]
		src, dst := o.ends()
		if o.copies() {
			read := f.read.of(o.dst, dst)
			from, to := int32(0), o.count
			for from < to && !read[from*dst.stride] {
				from++
			}
			for from < to && !read[(to-1)*dst.stride] {
				to--
			}
			if o.count = to - from; o.count == 0 {
				dropped = true
				continue
			}
			src, dst = src.part(from, o.count), dst.part(from, o.count)
			o.setPlaces(src, dst)
		}
		f.read.set(o.dst, dst, false)
		if o.reduce {
			f.read.set(o.dst, o.with(), true)
		}
		f.read.set(o.src, src, true)
	}
	if dropped {
		prog.ops = slices.DeleteFunc(prog.ops, func(o op) bool { return o.count == 0 })
	}
}
