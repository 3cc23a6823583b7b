package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// forward has what reads a copy read what was copied, and leaves out copies that
// nobody reads any more.
//
//	0 copy rank 1 in[0] → rank 1 out[0]         0 reduce rank 0 in[0] → rank 1 out[0] with in[0]
//	1 reduce rank 0 in[0] → rank 1 out[0]
//
// Out of place, a program that reduces begins with such copies, since it reduces
// into what it may overwrite. An instruction that receives knows two places: it
// adds what arrives to the one, and stores the sum in the other.
//
// A copy is read through only where what was copied is never overwritten after:
// then what reads it waits for less than before, and nothing waits for it. Only
// where chunks side by side are so there, too, for runtimes that know no strides.
// What takes the copy's place, a sum, may also read what is overwritten by what waits
// for that sum anyway, and scratch, where anything else would have it take more room:
//
//	0 copy rank 1 in[0] → rank 1 sc[0]
//	1 reduce rank 0 in[0] → rank 1 sc[0]        0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]
//	2 copy rank 1 sc[0] → rank 1 in[0]          1 reduce rank 2 in[0] → rank 1 in[0] with sc[0]
//	3 reduce rank 2 in[0] → rank 1 in[0]
//
// A reduction within a rank has one place for both, and still needs its copy.
//
// Left out is what no operation reads before it is overwritten and no caller will
// look at: it is no result, and not in the caller's input.
func forward(u *unit) error {
	f := &forwarding{u: u, uses: u.uses()}
	copies := func(own [3]use) bool { return (own[0]|own[1]|own[2])&copyTo != 0 }
	if !slices.ContainsFunc(f.uses, copies) || u.touched() > maxTouched {
		return nil
	}
	base, _, err := u.cellBases()
	if err != nil {
		return err
	}
	f.base = base
	f.readThrough()
	f.leaveOut()
	return nil
}

// copies tells whether the operation copies within a rank.
func (o *op) copies() bool { return o.local() && !o.reduce }

// forwarding is what is known of the chunks of buffers, as far as it matters.
type forwarding struct {
	u      *unit
	uses   [][3]use
	base   [][3]int      // by rank and buffer: its first cell
	last   ledger[int32] // of what is copied: the last operation of all to write it, or none
	source ledger[int32] // of copies: the cell that it is a copy of, or none
	since  ledger[int32] // of copies: the operation that copied it
	read   ledger[bool]  // of copies: whether it is going to be read
	lines  lineage
}

// readThrough goes through the operations in order.
func (f *forwarding) readThrough() {
	f.last = newLedger[int32](f.u, f.uses, copyFrom|writes)
	f.source = newLedger[int32](f.u, f.uses, copyTo|reads)
	f.since = newLedger[int32](f.u, f.uses, copyTo|reads)
	filled(f.last.entries, none)
	filled(f.source.entries, none)
	if len(f.last.entries) > 0 {
		for i := range f.u.ops {
			_, dst := f.u.ops[i].ends()
			f.last.put(f.u.ops[i].dst, dst, int32(i))
		}
		f.lines = newLineage(f)
	}
	for i := range f.u.ops {
		o := &f.u.ops[i]
		src, dst := o.ends()
		if copied, ok := f.copied(o.src, src); ok && copied.buf != collective.Scratch && f.stays(o.src, copied, int32(i)) {
			src = copied
			o.between(src, dst)
		}
		if o.reduce && !o.local() {
			if copied, ok := f.copied(o.dst, dst); ok && !copied.meet(dst) && (f.stays(o.dst, copied, int32(i)) || f.lines.promise(o.dst, copied, int32(i))) {
				o.add(copied)
			}
		}
		f.lines.wrote(int32(i))
		sources, since := f.source.of(o.dst, dst), f.since.of(o.dst, dst)
		if sources == nil {
			continue
		}
		for k := range o.count {
			at := k * dst.stride
			sources[at], since[at] = none, int32(i)
			if o.copies() {
				sources[at] = f.origin(o.src, src.one(k), int32(i))
			}
		}
	}
}

// stays tells whether some chunks are never overwritten by operation i or after it.
func (f *forwarding) stays(rank int32, c chunks, i int32) bool {
	last := f.last.of(rank, c)
	for k := 0; k < len(last); k += int(c.stride) {
		if last[k] >= i {
			return false
		}
	}
	return true
}

// origin is the cell that a chunk is a copy of which operation i copies on, or its
// own, if it is none or that is going to be overwritten.
func (f *forwarding) origin(rank int32, c chunks, i int32) int32 {
	if from, ok := f.copied(rank, c); ok && f.stays(rank, from, i) {
		c = from
	}
	return int32(f.base[rank][c.buf]) + c.off
}

// copied is what some chunks of a rank are a copy of, if that is one place, side by
// side where they are, and has not been overwritten since.
func (f *forwarding) copied(rank int32, c chunks) (from chunks, ok bool) {
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
	for from.buf < collective.Scratch && int(first) >= f.base[rank][from.buf+1] {
		from.buf++
	}
	from.off = first - int32(f.base[rank][from.buf])
	if int(from.end()) > f.u.size(rank, from.buf) {
		return from, false // from one buffer into the next
	}
	since, writer := f.since.of(rank, c), f.lines.writer.of(rank, from)
	for k := int32(0); k < c.count && writer != nil; k++ {
		if writer[k*from.stride] > since[k*c.stride] {
			return from, false
		}
	}
	return from, true
}

// leaveOut goes through the operations from the last to the first, and knows of
// every copy whether it is going to be read. One keeps the chunks from the first
// that is to the last, and remains one step.
func (f *forwarding) leaveOut() {
	f.read = newLedger[bool](f.u, f.uses, copyTo)
	u := f.u
	looked(&f.read, u)
	mark := func(rank int32, c chunks, is bool) {
		read := f.read.of(rank, c)
		for at := 0; at < len(read); at += int(c.stride) {
			read[at] = is
		}
	}
	dropped := false
	for i := len(u.ops) - 1; i >= 0; i-- {
		o := &u.ops[i]
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
			o.between(src, dst)
		}
		mark(o.dst, dst, false)
		if o.reduce {
			mark(o.dst, o.with(), true)
		}
		mark(o.src, src, true)
	}
	if dropped {
		u.ops = slices.DeleteFunc(u.ops, func(o op) bool { return o.count == 0 })
	}
}
