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
	if !u.copies() || u.touched() > maxTouched {
		return nil
	}
	base, n, err := u.cellBases()
	if err != nil {
		return err
	}
	f := &forwarding{u: u, base: base, last: make([]int32, n), source: make([]int32, n)}
	f.readThrough()
	f.leaveOut(n)
	return nil
}

// forwarding is what is known of every chunk of every buffer.
type forwarding struct {
	u      *unit
	base   [][3]int // by rank and buffer: its first cell
	last   []int32  // the last operation of all to write it, or none
	source []int32  // the cell that it is a copy of, or none
}

// copies tells whether any operation copies within a rank.
func (u *unit) copies() bool {
	for i := range u.ops {
		if u.ops[i].copies() {
			return true
		}
	}
	return false
}

// copies tells whether the operation copies within a rank.
func (o *op) copies() bool { return o.local() && !o.reduce }

// cells are the chunks as cells: the first, and the one after the last.
func (f *forwarding) cells(rank int32, c chunks) (first, end int) {
	first = f.base[rank][c.buf] + int(c.off)
	return first, first + int(c.count)*int(c.stride)
}

// readThrough goes through the operations in order.
func (f *forwarding) readThrough() {
	for c := range f.last {
		f.last[c], f.source[c] = none, none
	}
	for i := range f.u.ops {
		o := &f.u.ops[i]
		_, dst := o.ends()
		for c, end := f.cells(o.dst, dst); c < end; c += int(dst.stride) {
			f.last[c] = int32(i)
		}
	}
	for i := range f.u.ops {
		o := &f.u.ops[i]
		src, dst := o.ends()
		if copied, ok := f.copied(o.src, src); ok {
			src = copied
			o.between(src, dst)
		}
		if o.reduce && !o.local() {
			if copied, ok := f.copied(o.dst, dst); ok {
				o.withBuf, o.withOff, o.withStride = copied.buf, copied.off, copied.stride
			}
		}
		from, _ := f.cells(o.src, src)
		for c, end := f.cells(o.dst, dst); c < end; c += int(dst.stride) {
			f.source[c] = none
			if o.copies() {
				f.source[c] = f.origin(from, i, src.buf)
				from += int(src.stride)
			}
		}
	}
}

// origin is the cell to read for a copy that operation i makes of cell c: that one,
// or the one it is a copy of itself; none where it is scratch or to be overwritten.
func (f *forwarding) origin(c, i int, b collective.Buffer) int32 {
	switch {
	case f.source[c] != none:
		return f.source[c]
	case f.last[c] < int32(i) && b != collective.Scratch:
		return int32(c)
	}
	return none
}

// copied is what some chunks of a rank are a copy of, if that is one place, and
// side by side where they are.
func (f *forwarding) copied(rank int32, c chunks) (from chunks, ok bool) {
	at, end := f.cells(rank, c)
	first := f.source[at]
	if first == none {
		return from, false
	}
	from = chunks{collective.In, 0, c.count, c.stride}
	if from.count > 1 && f.source[at+int(c.stride)] == first+1 {
		from.stride = 1
	}
	last := first
	for next := first; at < end; at, next = at+int(c.stride), next+from.stride {
		if f.source[at] != next {
			return from, false
		}
		last = next
	}
	buffers := f.base[rank]
	for b := collective.Out; b < collective.Scratch; b++ {
		if int(first) >= buffers[b] {
			from.buf = b
		} else if int(last) >= buffers[b] {
			return from, false // from one buffer into the next
		}
	}
	from.off = first - int32(buffers[from.buf])
	return from, true
}

// leaveOut goes through the operations from the last to the first, and knows of
// every chunk whether it is going to be read. A copy keeps the chunks from the
// first that is to the last, and remains one step.
func (f *forwarding) leaveOut(n int) {
	u := f.u
	read := make([]bool, n)
	for r := range u.col.Ranks {
		f.looked(int32(r), read)
	}
	mark := func(rank int32, c chunks, is bool) {
		for at, end := f.cells(rank, c); at < end; at += int(c.stride) {
			read[at] = is
		}
	}
	for i := len(u.ops) - 1; i >= 0; i-- {
		o := &u.ops[i]
		src, dst := o.ends()
		if o.copies() {
			at, _ := f.cells(o.dst, dst)
			is := func(k int32) bool { return read[at+int(k)*int(dst.stride)] }
			from, to := int32(0), o.count
			for from < to && !is(from) {
				from++
			}
			for from < to && !is(to-1) {
				to--
			}
			if o.count = to - from; o.count == 0 {
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
	u.ops = slices.DeleteFunc(u.ops, func(o op) bool { return o.count == 0 })
}

// looked marks what the caller may look at in the end: results, and the input.
func (f *forwarding) looked(rank int32, at []bool) {
	col := f.u.col
	for i := range col.OutChunks(int(rank)) {
		if col.Want(int(rank), i).Kind != collective.WantNothing {
			b, off := col.Place(int(rank), collective.Out, i)
			at[f.base[rank][b]+off] = true
		}
	}
	for i := range col.InChunks(int(rank)) {
		b, off := col.Place(int(rank), collective.In, i)
		at[f.base[rank][b]+off] = true
	}
}
