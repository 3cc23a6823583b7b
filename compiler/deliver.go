package compiler

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// deliver has what writes chunks that are copied elsewhere write them there, and
// leaves out the copy.
//
//	0 reduce rank 0 in[0] → rank 1 sc[0]        0 reduce rank 0 in[0] → rank 1 out[0] with sc[0]
//	1 copy rank 1 sc[0] → rank 1 out[0]
//
// So programs end that sum up in scratch, or gather there, and copy the result to
// where it is wanted. Forward is for the copies they begin with.
//
// The copy is to be all that ever writes its chunks, and nothing may have read them
// before: then who writes them instead waits for nobody. All that reads what was
// copied has to find it in the new place, as one reference, side by side where it
// was; and no caller may look for it in the old. What a reduction within a rank
// leaves stays where it is, since it has one place for both.
//
// What a message reads may lie in part where it was copied from, in a user's buffer, if
// that is not overwritten after: in place, Bruck's allgather sends a rank's own part and
// what it was sent as one message from where they stay.
//
// One message may be copied to several places in pieces, or several to one place in
// one piece: chunks are told apart. A copy of which chunks are left between others
// that are delivered stays whole.
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
		if d.find() && (d.back() && d.settle() || d.find() && d.settle()) {
			d.move()
			continue
		}
		break
	}
	return nil
}

const (
	maxDeliveries  = 4 // of what was copied so often, one after another
	maxSettlements = 8 // walks until no chunk is found that has to stay
)

// delivery is what is known of the chunks that are copied within a rank. A value is
// what an operation leaves in a chunk; those of one operation have numbers in a row,
// and between two operations one is left out.
type delivery struct {
	u      *unit
	base   [][3]int // by rank and buffer: its first cell
	uses   [][3]use
	first  []int32       // by operation: its first value, or none
	target []int32       // by value: the cell it is to be left in, or none
	seen   []bool        // by value: a caller looks for it where it is
	holds  ledger[int32] // of what is copied: the value there, or none
}

// find looks for values with a copy to take the place of, and says whether there
// are any.
func (d *delivery) find() bool {
	const sources = copyFrom | writes
	d.holds = newLedger[int32](d.u, d.uses, sources)
	if len(d.holds.entries) == 0 {
		return false
	}
	values := int32(0)
	d.first = make([]int32, len(d.u.ops))
	written := newLedger[uint8](d.u, d.uses, copyTo) // how often, up to twice
	for i := range d.u.ops {
		o := &d.u.ops[i]
		_, dst := o.ends()
		d.first[i] = none
		if d.uses[o.dst][o.dstBuf]&sources == sources && !(o.reduce && o.local()) {
			d.first[i] = values
			values += o.count + 1 // so that it shows where those of another begin
		}
		often := written.of(o.dst, dst)
		for c := 0; c < len(often); c += int(dst.stride) {
			often[c] = min(often[c]+1, 2)
		}
	}
	d.target = filled(make([]int32, values), none)
	touched, found := newLedger[bool](d.u, d.uses, copyTo), false
	d.walk(func(i int, o *op, src, dst chunks) {
		if held := d.holds.of(o.src, src); held != nil && o.copies() {
			often, before := written.of(o.dst, dst), touched.of(o.dst, dst)
			apart := src.stride == 1 && dst.stride > 1 // so what is written side by side cannot be
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

// back has the values of copies of a user's buffer be found where they came from, if
// that is not overwritten after and they are not to go elsewhere. It says whether there
// are any.
func (d *delivery) back() bool {
	last := newLedger[int32](d.u, d.uses, copyFrom|writes)
	filled(last.entries, none)
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

// walk goes through the operations in order and keeps account of the values.
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

// settle leaves the values where they are that cannot be moved, or not without
// others that cannot, and says whether any remain to be.
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
				stay(own, 1) // it goes elsewhere itself
			}
			if held != nil && !d.readable(o, src, dst, held, own) {
				stay(held, src.stride)
			}
			if !o.reduce {
				return
			}
			with := o.with()
			held = d.holds.of(o.dst, with)
			if _, ok := d.moved(o.dst, with, held, with.stride); !ok || o.local() {
				stay(held, with.stride)
			}
		})
		if !stayed {
			return slices.ContainsFunc(d.target, func(cell int32) bool { return cell != none })
		}
	}
	return false
}

// readable tells whether an operation can do with what it reads, of which these are
// the values, where that is moved to. A copy that is made unnecessary in part has to
// be one still, of what no other copy waits for.
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

// move goes through the operations once more and changes their places.
func (d *delivery) move() {
	d.walk(func(i int, o *op, src, dst chunks) {
		own, held := d.own(i), d.holds.of(o.src, src)
		from, to := d.left(o, held, own)
		if from == to {
			o.count = 0
			return
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
	})
	d.u.ops = slices.DeleteFunc(d.u.ops, func(o op) bool { return o.count == 0 })
}

// moves tells whether a value is to be left elsewhere.
func (d *delivery) moves(v int32) bool { return v != none && d.target[v] != none }

// own are the values that operation i leaves; none where they are not looked at.
func (d *delivery) own(i int) []int32 {
	if d.first[i] == none {
		return nil
	}
	values := make([]int32, d.u.ops[i].count)
	for k := range values {
		values[k] = d.first[i] + int32(k)
	}
	return values
}

// left is from which chunk on, and up to which, there is something left for a copy
// to do, of what these are the values: not where they are delivered. All is left for
// what is no copy.
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

// stayed tells whether all that a copy leaves is found where it copies it from.
func (d *delivery) stayed(o *op, own []int32) bool {
	src, _ := o.ends()
	for k, v := range own {
		if v == none || d.target[v] != d.cell(o.src, src, int32(k)) {
			return false
		}
	}
	return o.copies() && len(own) > 0
}

// delivered tells whether a copy's k-th chunk is where it copies it to.
func (d *delivery) delivered(o *op, held []int32, k int32) bool {
	src, dst := o.ends()
	v := held[k*src.stride]
	return v != none && d.target[v] == d.cell(o.dst, dst, k)
}

// moved is where some chunks are to be found, of which these are the values, in so
// large steps: where they are now if none is moved. They must stay one reference.
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
		return c, false // from one buffer into the next
	}
	return to, true
}

// cell is that of the k-th of some chunks.
func (d *delivery) cell(rank int32, c chunks, k int32) int32 {
	return int32(d.base[rank][c.buf]) + c.off + k*c.stride
}
