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
// And only to the user's buffers: in scratch, what is read longer takes more room.
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
	read   ledger[bool]  // of copies: whether it is going to be read
}

// readThrough goes through the operations in order.
func (f *forwarding) readThrough() {
	f.last = newLedger[int32](f.u, f.uses, copyFrom|writes)
	f.source = newLedger[int32](f.u, f.uses, copyTo|reads)
	for c := range f.last.entries {
		f.last.entries[c] = none
	}
	for c := range f.source.entries {
		f.source.entries[c] = none
	}
	if len(f.last.entries) > 0 {
		for i := range f.u.ops {
			_, dst := f.u.ops[i].ends()
			last := f.last.of(f.u.ops[i].dst, dst)
			for c := 0; c < len(last); c += int(dst.stride) {
				last[c] = int32(i)
			}
		}
	}
	for i := range f.u.ops {
		o := &f.u.ops[i]
		src, dst := o.ends()
		if copied, ok := f.copied(o.src, src); ok {
			src = copied
			o.between(src, dst)
		}
		sources := f.source.of(o.dst, dst)
		if sources == nil {
			continue
		}
		if o.reduce && !o.local() {
			if copied, ok := f.copied(o.dst, dst); ok {
				o.add(copied)
			}
		}
		for k := range o.count {
			at := &sources[k*dst.stride]
			*at = none
			if o.copies() {
				*at = f.origin(o.src, src.one(k), i)
			}
		}
	}
}

// origin is the cell to read for a copy that operation i makes of a chunk: that
// one, or the one it is a copy of itself; none where it is scratch or to be
// overwritten.
func (f *forwarding) origin(rank int32, c chunks, i int) int32 {
	if source := f.source.of(rank, c); source != nil && source[0] != none {
		return source[0]
	}
	if last := f.last.of(rank, c); c.buf == collective.Scratch || last != nil && last[0] >= int32(i) {
		return none
	}
	return int32(f.base[rank][c.buf]) + c.off
}

// copied is what some chunks of a rank are a copy of, if that is one place, and
// side by side where they are.
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
	out := int32(f.base[rank][collective.Out])
	if last := first + (c.count-1)*from.stride; first < out && last >= out {
		return from, false // from one buffer into the next
	}
	if first >= out {
		from.buf = collective.Out
	}
	from.off = first - int32(f.base[rank][from.buf])
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
