package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// deliver removes copies within a rank by writing values to the copy's destination
// in the first place.
//
//	0 reduce rank 0 in[0] → rank 1 sc[0]        0 reduce rank 0 in[0] → rank 1 out[0] with sc[0]
//	1 copy rank 1 sc[0] → rank 1 out[0]
//
// It serves programs that end by copying a result from scratch, where it was
// summed up or gathered, to the output. (Pass forward is for the copies that
// programs begin with.)
//
// The copy must be the only writer of its destination, and nothing may read the
// destination before; then writing it early delays nobody. Everything that reads
// the copied value must be able to find it at the new place as a single reference,
// contiguous if it was so before, and the caller must not expect it at the old
// place. The result of a reduction within a rank stays where it is, because such
// an instruction has the same place for its operand and its result.
//
// A message may also read part of its chunks from where a copy took them, in a
// user's buffer that is not overwritten later. In-place Bruck allgathers need
// this: a rank sends its own part and the parts it received as one message.
//
// Chunks are treated one by one: one message may end up in several places, or
// several messages in one. But if the chunks of a copy that remain surround ones
// that were delivered, the whole copy stays.
func deliver(u *unit) error {
	if u.touched() > maxTouched {
		return nil
	}
	base, _, err := u.cellBases()
	if err != nil {
		return err
	}
	for range maxDeliveries {
		d := &delivery{u: u, base: base, uses: u.uses()}
		more := d.find() && (d.back() && d.settle() || d.find() && d.settle())
		if more {
			d.move()
		}
		d.forget()
		if !more {
			break
		}
	}
	return nil
}

const (
	maxDeliveries  = 4 // rounds, for values that are copied several times in a row
	maxSettlements = 8 // walks of settle until nothing more has to stay in place
)

// delivery is the analysis of copies within a rank. A value is what one operation
// leaves in one chunk. The values of an operation are numbered consecutively, with
// a gap after each operation, so that values of two operations never look
// adjacent.
type delivery struct {
	u      *unit
	base   [][3]int // first cell of each buffer, by rank and buffer
	uses   [][3]use
	first  []int32       // by operation: its first value, or none if its values are not tracked
	target []int32       // by value: the cell to write it to instead, or none
	seen   []bool        // by value: the caller expects it where it is
	holds  ledger[int32] // by cell of a buffer that copies read: the value in it, or none
	mine   []int32       // see own
}

// find looks for values that could be written to the destination of a copy, and
// tells whether there are any.
func (d *delivery) find() bool {
	const sources = copyFrom | writes
	d.forget()
	d.holds = newNumbers(d.u, d.uses, sources)
	if len(d.holds.entries) == 0 {
		return false
	}
	values := int32(0)
	d.first = d.u.room.take(len(d.u.ops))
	written := newLedger[uint8](d.u, d.uses, copyTo) // number of writes to each cell, up to 2
	for i := range d.u.ops {
		o := &d.u.ops[i]
		_, dst := o.ends()
		d.first[i] = none
		if d.uses[o.dst][o.dstBuf]&sources == sources && !(o.reduce && o.local()) {
			d.first[i] = values
			values += o.count + 1 // the gap between the values of two operations
		}
		often := written.of(o.dst, dst)
		for c := 0; c < len(often); c += int(dst.stride) {
			often[c] = min(often[c]+1, 2)
		}
	}
	d.target = filled(d.u.room.take(int(values)), none)
	touched, found := newLedger[bool](d.u, d.uses, copyTo), false
	d.walk(func(i int, o *op, src, dst chunks) {
		if held := d.holds.of(o.src, src); held != nil && o.copies() {
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
		touched.put(o.src, src, true)
		touched.put(o.dst, dst, true)
		if o.reduce {
			touched.put(o.dst, o.with(), true)
		}
	})
	if !found {
		return false
	}
	seen := newLedger[bool](d.u, d.uses, sources)
	looked(&seen, d.u)
	d.seen = make([]bool, values)
	for c, v := range d.holds.entries {
		if v != none && seen.entries[c] {
			d.target[v], d.seen[v] = none, true
		}
	}
	return true
}

// forget gives back the arrays that find had lent.
func (d *delivery) forget() {
	d.u.room.give(d.holds.entries, d.first, d.target)
	d.holds, d.first, d.target = ledger[int32]{}, nil, nil
}

// back lets copies out of a user's buffer be read at their source instead,
// provided that the source is not overwritten later and the values need not go
// elsewhere. It tells whether there are any such copies.
func (d *delivery) back() bool {
	last := newNumbers(d.u, d.uses, copyFrom|writes)
	defer d.u.room.give(last.entries)
	for i := range d.u.ops {
		_, dst := d.u.ops[i].ends()
		last.put(d.u.ops[i].dst, dst, int32(i))
	}
	found := false
	for i := range d.u.ops {
		o := &d.u.ops[i]
		src, _ := o.ends()
		if d.first[i] == none || !o.copies() || src.buf == collective.Scratch {
			continue
		}
		overwritten := last.of(o.src, src)
		for k := range o.count {
			v := d.first[i] + k
			if !d.seen[v] && d.target[v] == none && (overwritten == nil || overwritten[k*src.stride] < int32(i)) {
				d.target[v], found = d.cell(o.src, src, k), true
			}
		}
	}
	return found
}

// walk visits the operations in order, tracking which value each cell holds.
func (d *delivery) walk(visit func(i int, o *op, src, dst chunks)) {
	filled(d.holds.entries, none)
	for i := range d.u.ops {
		o := &d.u.ops[i]
		src, dst := o.ends()
		visit(i, o, src, dst)
		held := d.holds.of(d.u.ops[i].dst, dst)
		for k := int32(0); int(k*dst.stride) < len(held); k++ {
			v := d.first[i]
			if v != none {
				v += k
			}
			held[k*dst.stride] = v
		}
	}
}

// settle gives up moving values that cannot be moved, or only together with others
// that cannot, and tells whether any are left to move.
func (d *delivery) settle() bool {
	for range maxSettlements {
		stayed := false
		stay := func(values []int32, stride int32) {
			for k := 0; k < len(values); k += int(stride) {
				if v := values[k]; v != none && d.target[v] != none {
					d.target[v], stayed = none, true
				}
			}
		}
		d.walk(func(i int, o *op, src, dst chunks) {
			own := d.own(i)
			if _, ok := d.moved(o.dst, dst, own, 1); !ok {
				stay(own, 1)
			}
			held := d.holds.of(o.src, src)
			if d.stayed(o, own) && slices.ContainsFunc(held, d.moves) {
				stay(own, 1) // its own result goes elsewhere
			}
			if held != nil && !d.readable(o, src, dst, held, own) {
				stay(held, src.stride)
			}
			// One value of a copy may stay where it is read while another goes to the
			// chunk next to it: then what is left would write what it reads.
			overlaps := d.overlaps(o, own)
			if overlaps {
				stay(own, 1)
				stay(held, src.stride)
			}
			if !o.reduce {
				return
			}
			with := o.with()
			held = d.holds.of(o.dst, with)
			if _, ok := d.moved(o.dst, with, held, with.stride); !ok || o.local() || overlaps {
				stay(held, with.stride)
			}
		})
		if !stayed {
			return slices.ContainsFunc(d.target, func(cell int32) bool { return cell != none })
		}
	}
	return false
}

// readable tells whether an operation could still read its source, which holds the
// given values, after they have moved. A copy that becomes partly unnecessary must
// remain one copy, of chunks that no other copy waits for.
func (d *delivery) readable(o *op, src, dst chunks, held, own []int32) bool {
	from, to := d.left(o, held, own)
	if from == to && d.stayed(o, own) {
		return true
	}
	if to-from < o.count && slices.ContainsFunc(own, d.moves) {
		return false
	}
	if from == to {
		return true
	}
	for k := from; k < to; k++ {
		if o.copies() && d.delivered(o, held, k) {
			return false
		}
	}
	_, ok := d.moved(o.src, src.part(from, to-from), held[from*src.stride:], src.stride)
	return ok
}

// overlaps tells whether an operation with the given values would write chunks that
// it reads, and not in their place.
func (d *delivery) overlaps(o *op, own []int32) bool {
	if !o.local() && !o.reduce {
		return false // it reads one rank and writes another
	}
	then := d.placed(*o, own)
	return then.count > 0 && then.overlaps()
}

// move visits the operations a last time and changes their places.
func (d *delivery) move() {
	d.walk(func(i int, o *op, src, dst chunks) { *o = d.placed(*o, d.own(i)) })
	d.u.ops = slices.DeleteFunc(d.u.ops, func(o op) bool { return o.count == 0 })
}

// placed is what is left of an operation, at the places where the values will be:
// without chunks, if it is a copy of which nothing is left.
func (d *delivery) placed(o op, own []int32) op {
	src, dst := o.ends()
	held := d.holds.of(o.src, src)
	from, to := d.left(&o, held, own)
	if from == to {
		o.count = 0
		return o
	}
	if held != nil {
		held = held[from*src.stride:]
	}
	with := o.with()
	reads, _ := d.moved(o.src, src.part(from, to-from), held, src.stride)
	writes, _ := d.moved(o.dst, dst.part(from, to-from), own, 1)
	o.between(reads, writes)
	if o.reduce {
		with, _ = d.moved(o.dst, with, d.holds.of(o.dst, with), with.stride)
		o.add(with)
	}
	return o
}

// moves tells whether a value will be written elsewhere.
func (d *delivery) moves(v int32) bool { return v != none && d.target[v] != none }

// own lists the values that operation i leaves, or none if they are not tracked. The
// next call overwrites the list.
func (d *delivery) own(i int) []int32 {
	if d.first[i] == none {
		return nil
	}
	d.mine = d.mine[:0]
	for k := range d.u.ops[i].count {
		d.mine = append(d.mine, d.first[i]+k)
	}
	return d.mine
}

// left is the range of chunks that a copy still has to copy, those whose values
// will not be delivered directly. For any other operation it is the whole range.
func (d *delivery) left(o *op, held, own []int32) (from, to int32) {
	to = o.count
	if !o.copies() {
		return from, to
	}
	if d.stayed(o, own) {
		return 0, 0
	}
	for from < to && held != nil && d.delivered(o, held, from) {
		from++
	}
	for from < to && held != nil && d.delivered(o, held, to-1) {
		to--
	}
	return from, to
}

// stayed tells whether all chunks of a copy can be read at its source instead.
func (d *delivery) stayed(o *op, own []int32) bool {
	src, _ := o.ends()
	for k, v := range own {
		if v == none || d.target[v] != d.cell(o.src, src, int32(k)) {
			return false
		}
	}
	return o.copies() && len(own) > 0
}

// delivered tells whether the k-th chunk of a copy will have been written to its
// destination already.
func (d *delivery) delivered(o *op, held []int32, k int32) bool {
	src, dst := o.ends()
	v := held[k*src.stride]
	return v != none && d.target[v] == d.cell(o.dst, dst, k)
}

// moved is where the chunks of c will be found, whose values are every step-th of
// the given ones: c itself if none of them moves. ok tells whether they are still a
// single reference.
func (d *delivery) moved(rank int32, c chunks, values []int32, step int32) (to chunks, ok bool) {
	cell := func(k int32) int32 {
		if v := values[k*step]; v != none {
			return d.target[v]
		}
		return none
	}
	moving := int32(0)
	for k := int32(0); k < c.count && values != nil; k++ {
		if cell(k) != none {
			moving++
		}
	}
	if moving == 0 {
		return c, true
	}
	if moving < c.count {
		return c, false
	}
	to = chunks{collective.In, 0, c.count, 1}
	at := cell(0)
	if c.count > 1 {
		to.stride = cell(1) - at
	}
	if to.stride < 1 || c.stride == 1 && to.stride != 1 {
		return c, false
	}
	for k := range c.count {
		if cell(k) != at+k*to.stride {
			return c, false
		}
	}
	for to.buf < collective.Scratch && int(at) >= d.base[rank][to.buf+1] {
		to.buf++
	}
	to.off = at - int32(d.base[rank][to.buf])
	if int(to.end()) > d.u.size(rank, to.buf) {
		return c, false // it would run from one buffer into the next
	}
	return to, true
}

// cell is the cell of the k-th chunk of c.
func (d *delivery) cell(rank int32, c chunks, k int32) int32 {
	return int32(d.base[rank][c.buf]) + c.off + k*c.stride
}
