package compiler

// lineage records for every operation one earlier operation that it waits for in
// any case, namely the writer of what it reads, and so a line of such operations
// back to the first:
//
//	0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]
//	1 copy rank 1 sc[0] → rank 2 out[0]                after 0
//	2 copy rank 2 out[0] → rank 1 in[0]                after 1, and so after 0
//
// A sum may read a place that is overwritten later if whatever overwrites it is
// known to wait for the sum, being of its line: then nothing has to wait longer.
// Whether that is so only shows when the overwriting operation comes. Until then
// the sum's read is a promise, and is undone if it turns out not to hold.
type lineage struct {
	f      *forwarding
	before []int32       // by operation: an operation that it waits for, or none
	writer ledger[int32] // of buffers that are read and written: the last writer so far
	reader ledger[int32] // of buffers that are copied from and written: the sum that a promise lets read it, or none
}

// longestLine is how many operations back a sum is looked for.
const longestLine = 1 << 8

func newLineage(f *forwarding) lineage {
	return lineage{
		f: f, before: f.u.room.take(len(f.u.ops)),
		writer: newNumbers(f.u, f.uses, reads|writes), reader: newNumbers(f.u, f.uses, copyFrom|writes),
	}
}

// promise lets sum i read some chunks, unless another sum has a promise for them.
func (l *lineage) promise(rank int32, c chunks, i int32) bool {
	reader := l.reader.of(rank, c)
	for k := 0; k < len(reader); k += int(c.stride) {
		if reader[k] != none {
			return false
		}
	}
	l.reader.put(rank, c, i)
	return true
}

// wrote records what operation i, whose places are final now, follows and writes,
// and undoes the promises that it breaks.
func (l *lineage) wrote(i int32) {
	if l.f == nil {
		return
	}
	o := &l.f.u.ops[i]
	src, dst := o.ends()
	l.before[i] = none
	if o.reduce {
		l.before[i] = l.wroteFirst(o.dst, o.with())
	}
	if l.before[i] == none {
		l.before[i] = l.wroteFirst(o.src, src)
	}
	reader := l.reader.of(o.dst, dst)
	for k := 0; k < len(reader); k += int(dst.stride) {
		if sum := reader[k]; sum != none && !l.descends(i, sum) {
			r := &l.f.u.ops[sum]
			_, own := r.ends()
			r.add(own)
		}
	}
	l.writer.put(o.dst, dst, i)
}

// wroteFirst is the last writer of the first of some chunks.
func (l *lineage) wroteFirst(rank int32, c chunks) int32 {
	if writer := l.writer.of(rank, c); writer != nil {
		return writer[0]
	}
	return none
}

// descends tells whether operation i is known to wait for another, directly or
// not.
func (l *lineage) descends(i, other int32) bool {
	for n := 0; n < longestLine && i > other; n++ {
		i = l.before[i]
	}
	return i == other
}
