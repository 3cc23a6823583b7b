package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// sinkCopies removes copies within a rank by writing values directly to the
// copy's destination.
//
//	0 reduce rank 0 in[0] → rank 1 sc[0]        0 reduce rank 0 in[0] → rank 1 out[0] with sc[0]
//	1 copy rank 1 sc[0] → rank 1 out[0]
//
// It serves programs that end by copying a result from scratch, where it was
// reduced or gathered, to the output. (Pass propagate copies handles the copies
// that programs begin with.)
//
// The copy must be the only writer of its destination, and nothing may read the
// destination before; then writing it early delays no other operation. Every
// reader of the copied value must be able to read it at the new place as a
// single reference, contiguous if it was so before, and the caller must not
// expect it at the old place. The result of a reduction within a rank stays
// where it is, because such an instruction has one place for its operand and
// its result.
//
// A message may also read some of its chunks from the source of a copy, if that
// is a user's buffer that is not overwritten later. In-place Bruck allgathers
// need this: a rank sends its own part and the parts it received as one
// message.
//
// Chunks are handled one by one: one message may end up in several places, or
// several messages in one. But if some chunks of a copy remain, the range from
// the first to the last of them remains.
func sinkCopies(prog *program) error {
	if prog.touched() > maxTouched {
		return nil
	}
	base, _, err := prog.cellBases()
	if err != nil {
		return err
	}
	for range maxSinkRounds {
		d := &copySinking{prog: prog, base: base, uses: prog.uses()}
		more := d.findTargets() && d.chooseTargets()
		if more {
			d.apply()
		}
		d.release()
		if !more {
			break
		}
	}
	return nil
}

const (
	maxSinkRounds  = 4 // for values that are copied several times in a row
	maxPruneRounds = 8 // of pruneTargets
)

// copySinking is the analysis of copies within a rank. A value is the content
// that one operation leaves in one chunk. The values of an operation are
// numbered consecutively, with a gap after each operation, so that values of
// two operations never look adjacent.
type copySinking struct {
	prog    *program
	base    [][3]int // first cell of each buffer, by rank and buffer
	uses    [][3]use
	first   []int32           // by operation: its first value, or none if its values are not tracked
	target  []int32           // by value: the cell to write it to instead, or none
	liveOut []bool            // by value: the caller expects it where it is
	valueAt chunkTable[int32] // by cell of a buffer that copies read: the value in it, or none
	holding [][3]reach        // by rank and buffer: between them lie the tracked values
	values  []int32           // all of them, rising
}

// findTargets finds values that could be written to the destination of a copy,
// and reports whether there are any.
func (d *copySinking) findTargets() bool {
	const sources = copyFrom | writes
	d.release()
	d.valueAt = newIndexTable(d.prog, d.uses, sources)
	if len(d.valueAt.entries) == 0 {
		return false
	}
	values := d.trackValues(sources)
	written := newChunkTable[uint8](d.prog, d.uses, copyToFromWritten) // number of writes to each cell, up to 2
	for i := range d.prog.ops {
		o := &d.prog.ops[i]
		_, dst := o.ends()
		often := written.of(o.dst, dst)
		for c := 0; c < len(often); c += int(dst.stride) {
			often[c] = min(often[c]+1, 2)
		}
	}
	d.target = fill(d.prog.pool.Take(int(values)), none)
	d.values = d.prog.pool.Take(int(values))
	for v := range d.values {
		d.values[v] = int32(v)
	}
	touched, found := newChunkTable[bool](d.prog, d.uses, copyToFromWritten), false
	d.walk(nil, func(i int, o *op, src, dst chunks) {
		if held := d.held(o.src, src); held != nil && o.copies() {
			often, before := written.of(o.dst, dst), touched.of(o.dst, dst)
			apart := src.stride == 1 && dst.stride > 1 // contiguous chunks cannot be written to a strided place
			for k := range o.count {
				if apart && k+1 < o.count && held[k] != none && held[k+1] == held[k]+1 {
					break
				}
				v, at := held[k*src.stride], k*dst.stride
				if v != none && d.target[v] == none && often[at] == 1 && !before[at] {
					d.target[v] = d.cell(o.dst, dst, k)
					found = true
				}
			}
		}
		touched.set(o.src, src, true)
		touched.set(o.dst, dst, true)
		if o.reduce {
			touched.set(o.dst, o.with(), true)
		}
	})
	if !found {
		return false
	}
	seen := newChunkTable[bool](d.prog, d.uses, sources)
	markLiveOut(&seen, d.prog)
	d.liveOut = make([]bool, values)
	for c, v := range d.valueAt.entries {
		if v != none && seen.entries[c] {
			d.target[v], d.liveOut[v] = none, true
		}
	}
	return true
}

// trackValues numbers the values that may move, and returns how many there are, gaps
// included. The values of an operation move together or not at all. So an operation's are
// tracked if copies read all of them, or if it copies from a user's buffer and another operation
// reads one of them together with a chunk that a copy reads.
func (d *copySinking) trackValues(sources use) (values int32) {
	copied := newChunkTable[bool](d.prog, d.uses, sources)
	for i := range d.prog.ops {
		if o := &d.prog.ops[i]; o.copies() {
			src, _ := o.ends()
			copied.set(o.src, src, true)
		}
	}
	beside := newChunkTable[bool](d.prog, d.uses, sources) // read together with such chunks
	for i := range d.prog.ops {
		o := &d.prog.ops[i]
		if src, _ := o.ends(); contains(&copied, o.src, src, true) {
			beside.set(o.src, src, true)
		}
	}
	d.holding = make([][3]reach, len(d.uses))
	d.first = d.prog.pool.Take(len(d.prog.ops))
	for i := range d.prog.ops {
		o := &d.prog.ops[i]
		src, dst := o.ends()
		d.first[i] = none
		sinks := copied.of(o.dst, dst) != nil && !contains(&copied, o.dst, dst, false) && !(o.reduce && o.local())
		if sinks || o.copies() && src.buf != collective.Scratch && contains(&beside, o.dst, dst, true) {
			d.first[i] = values
			values += o.count + 1 // the gap between the values of two operations
			d.holding[o.dst][dst.buf].add(dst)
		}
	}
	return values
}

// release returns the slices of findTargets to the pool.
func (d *copySinking) release() {
	d.prog.pool.Give(d.valueAt.entries, d.first, d.target, d.values)
	d.valueAt, d.first, d.target, d.values = chunkTable[int32]{}, nil, nil, nil
}

// chooseTargets decides which targets are used: together with those of readAtSource if
// any of them all remain, or else without. It reports whether any remain.
func (d *copySinking) chooseTargets() bool {
	found := d.prog.pool.Take(len(d.target))
	defer d.prog.pool.Give(found)
	copy(found, d.target)
	if d.readAtSource() && d.pruneTargets() {
		return true
	}
	copy(d.target, found)
	return d.pruneTargets()
}

// readAtSource lets copies from a user's buffer be read at their source
// instead, if the source is not overwritten later and the values have no
// target. It reports whether there are any such copies.
func (d *copySinking) readAtSource() bool {
	var last chunkTable[int32] // by cell of a buffer that copies read: the last to write it, once it matters
	defer func() { d.prog.pool.Give(last.entries) }()
	found := false
	for i := range d.prog.ops {
		o := &d.prog.ops[i]
		src, _ := o.ends()
		if d.first[i] == none || !o.copies() || src.buf == collective.Scratch {
			continue
		}
		if d.uses[o.src][src.buf]&writes != 0 && last.first == nil {
			last = newLastWriters(d.prog, d.uses, copyFrom|writes)
		}
		overwritten := last.of(o.src, src)
		for k := range o.count {
			v := d.first[i] + k
			if !d.liveOut[v] && d.target[v] == none && (overwritten == nil || overwritten[k*src.stride] < int32(i)) {
				d.target[v], found = d.cell(o.src, src, k), true
			}
		}
	}
	return found
}

// walk visits the operations in order, tracking which value each cell holds; if there are
// moving values, only of buffers with some.
func (d *copySinking) walk(moving [][3]int, visit func(i int, o *op, src, dst chunks)) {
	fill(d.valueAt.entries, none)
	for i := range d.prog.ops {
		o := &d.prog.ops[i]
		src, dst := o.ends()
		visit(i, o, src, dst)
		if moving != nil && moving[o.dst][dst.buf] == 0 {
			continue
		}
		if d.first[i] == none {
			if rest := d.holding[o.dst][dst.buf].of(dst); rest.count > 0 {
				d.valueAt.set(o.dst, rest, none)
			}
			continue
		}
		held, v := d.valueAt.of(d.prog.ops[i].dst, dst), d.first[i]
		for k := 0; k < len(held); k += int(dst.stride) {
			held[k] = v
			v++
		}
	}
}

// pruneTargets removes the targets of values that cannot be moved, or only
// together with others that cannot, until none is left to remove. It reports
// whether any targets remain.
func (d *copySinking) pruneTargets() bool {
	moving := d.countTargets()
	for range maxPruneRounds {
		stayed := false
		stay := func(values []int32, stride int32, rank int32, buf collective.Buffer) {
			for k := 0; k < len(values); k += int(stride) {
				if v := values[k]; v != none && d.target[v] != none {
					d.target[v], stayed = none, true
					moving[rank][buf]--
				}
			}
		}
		d.walk(moving, func(i int, o *op, src, dst chunks) {
			if moving[o.src][src.buf] == 0 && moving[o.dst][dst.buf] == 0 && moving[o.dst][o.with().buf] == 0 {
				return
			}
			own := d.valuesOf(i)
			if _, ok := d.newPlace(o.dst, dst, own, 1); !ok {
				stay(own, 1, o.dst, dst.buf)
			}
			held := d.held(o.src, src)
			if d.bypassed(o, own) && slices.ContainsFunc(held, d.moves) {
				stay(own, 1, o.dst, dst.buf) // its source moves, so it cannot be read there
			}
			if held != nil && !d.readable(o, src, dst, held, own) {
				stay(held, src.stride, o.src, src.buf)
			}
			// Some values of a copy may stay where they are while others move to
			// adjacent chunks; the rest of the copy would then overwrite its own source.
			overlaps := d.overlaps(o, own)
			if overlaps {
				stay(own, 1, o.dst, dst.buf)
				stay(held, src.stride, o.src, src.buf)
			}
			if !o.reduce {
				return
			}
			with := o.with()
			held = d.held(o.dst, with)
			if _, ok := d.newPlace(o.dst, with, held, with.stride); !ok || o.local() || overlaps {
				stay(held, with.stride, o.dst, with.buf)
			}
		})
		if !stayed {
			return slices.ContainsFunc(moving, func(own [3]int) bool { return own != [3]int{} })
		}
	}
	return false
}

// countTargets returns the number of values with a target, by rank and buffer.
func (d *copySinking) countTargets() [][3]int {
	moving := make([][3]int, len(d.uses))
	for i := range d.prog.ops {
		if d.first[i] == none {
			continue
		}
		o, n := &d.prog.ops[i], 0
		for _, cell := range d.target[d.first[i] : d.first[i]+o.count] {
			if cell != none {
				n++
			}
		}
		moving[o.dst][o.dstBuf] += n
	}
	return moving
}

// readable reports whether an operation could still read its source, which
// holds the given values, after they have moved. A copy that becomes partly
// unnecessary must remain one copy, of chunks whose values do not move on.
func (d *copySinking) readable(o *op, src, dst chunks, held, own []int32) bool {
	from, to := d.remaining(o, held, own)
	if from == to && d.bypassed(o, own) {
		return true
	}
	if to-from < o.count && slices.ContainsFunc(own, d.moves) {
		return false
	}
	if from == to {
		return true
	}
	for k := from; k < to; k++ {
		if o.copies() && d.sunk(o, held, k) {
			return false
		}
	}
	_, ok := d.newPlace(o.src, src.part(from, to-from), held[from*src.stride:], src.stride)
	return ok
}

// overlaps reports whether an operation that leaves the given values would
// overwrite its own source after the move, other than each chunk in its place.
func (d *copySinking) overlaps(o *op, own []int32) bool {
	if !o.local() && !o.reduce {
		return false // it reads one rank and writes another
	}
	then := d.relocated(*o, own)
	return then.count > 0 && then.overlaps()
}

// apply changes the places of all operations.
func (d *copySinking) apply() {
	d.walk(nil, func(i int, o *op, src, dst chunks) { *o = d.relocated(*o, d.valuesOf(i)) })
	d.prog.ops = slices.DeleteFunc(d.prog.ops, func(o op) bool { return o.count == 0 })
}

// relocated returns the rest of an operation, at its new places. It has no
// chunks if it is a copy that is no longer needed.
func (d *copySinking) relocated(o op, own []int32) op {
	src, dst := o.ends()
	held := d.held(o.src, src)
	from, to := d.remaining(&o, held, own)
	if from == to {
		o.count = 0
		return o
	}
	if held != nil {
		held = held[from*src.stride:]
	}
	with := o.with()
	reads, _ := d.newPlace(o.src, src.part(from, to-from), held, src.stride)
	writes, _ := d.newPlace(o.dst, dst.part(from, to-from), own, 1)
	o.setPlaces(reads, writes)
	if o.reduce {
		with, _ = d.newPlace(o.dst, with, d.held(o.dst, with), with.stride)
		o.setWith(with)
	}
	return o
}

// held lists the values in some chunks and in those between them, or none if none is tracked.
func (d *copySinking) held(rank int32, c chunks) []int32 {
	if !d.holding[rank][c.buf].meets(c) {
		return nil
	}
	return d.valueAt.of(rank, c)
}

// moves reports whether a value will be written elsewhere.
func (d *copySinking) moves(v int32) bool { return d.targetOf(v) != none }

// targetOf returns the cell that a value will be written to, or none if it stays.
func (d *copySinking) targetOf(v int32) int32 {
	if v == none {
		return none
	}
	return d.target[v]
}

// valuesOf lists the values that operation i leaves, or none if they are not
// tracked.
func (d *copySinking) valuesOf(i int) []int32 {
	first := d.first[i]
	if first == none {
		return nil
	}
	return d.values[first : first+d.prog.ops[i].count]
}

// remaining returns the range of chunks that a copy still has to copy: those
// whose values are not written to its destination directly. For any other
// operation it is the whole range.
func (d *copySinking) remaining(o *op, held, own []int32) (from, to int32) {
	to = o.count
	if !o.copies() {
		return from, to
	}
	if d.bypassed(o, own) {
		return 0, 0
	}
	for from < to && held != nil && d.sunk(o, held, from) {
		from++
	}
	for from < to && held != nil && d.sunk(o, held, to-1) {
		to--
	}
	return from, to
}

// bypassed reports whether all chunks of a copy will be read at its source
// instead.
func (d *copySinking) bypassed(o *op, own []int32) bool {
	src, _ := o.ends()
	for k, v := range own {
		if v == none || d.target[v] != d.cell(o.src, src, int32(k)) {
			return false
		}
	}
	return o.copies() && len(own) > 0
}

// sunk reports whether the k-th chunk of a copy will be written to its
// destination directly.
func (d *copySinking) sunk(o *op, held []int32, k int32) bool {
	src, dst := o.ends()
	v := held[k*src.stride]
	return v != none && d.target[v] == d.cell(o.dst, dst, k)
}

// newPlace returns the new place of the chunks of c, whose values are every
// step-th of the given ones; it is c if none of them moves. ok reports whether
// they are still a single reference.
func (d *copySinking) newPlace(rank int32, c chunks, values []int32, step int32) (to chunks, ok bool) {
	if c.count == 0 || values == nil {
		return c, true
	}
	at := d.targetOf(values[0])
	if at == none {
		for k := int32(1); k < c.count; k++ {
			if d.moves(values[k*step]) {
				return c, false
			}
		}
		return c, true
	}
	stride := int32(1)
	if c.count > 1 {
		stride = d.targetOf(values[step]) - at
	}
	if stride < 1 || c.stride == 1 && stride != 1 {
		return c, false
	}
	for k := range c.count {
		if d.targetOf(values[k*step]) != at+k*stride {
			return c, false
		}
	}
	if to, ok = d.prog.fromCell(d.base, rank, at, c.count, stride); !ok {
		return c, false
	}
	return to, true
}

func (d *copySinking) cell(rank int32, c chunks, k int32) int32 {
	return int32(d.base[rank][c.buf]) + c.off + k*c.stride
}
