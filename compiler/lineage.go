package compiler

// lineage knows of every operation one before it that it waits for anyway, that which
// wrote what it reads, and so on back to the first:
//
//	0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]
//	1 copy rank 1 sc[0] → rank 2 out[0]                after 0
//	2 copy rank 2 out[0] → rank 1 in[0]                after 1, and so after 0
//
// A sum may read what is going to be overwritten if whoever overwrites it is of its
// line: nobody waits longer for that. Whether he is shows when he comes; until then
// the sum has a promise, and is put back to its own place if it is not kept.
type lineage struct {
	f      *forwarding
	before []int32       // by operation: one that it waits for, or none
	writer ledger[int32] // of what is copied, or holds sums: who wrote it last, so far
	reader ledger[int32] // of what is copied: the sum that was promised to read it, or none
}

// longestLine is how far back is looked for a sum.
const longestLine = 1 << 8

func newLineage(f *forwarding) lineage {
	l := lineage{
		f: f, before: make([]int32, len(f.u.ops)),
		writer: newLedger[int32](f.u, f.uses, reads|writes), reader: newLedger[int32](f.u, f.uses, copyFrom|writes),
	}
	filled(l.writer.entries, none)
	filled(l.reader.entries, none)
	return l
}

// promise lets operation i read some chunks if no other has such a promise of them.
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

// wrote notes what operation i, whose places are known now, comes after and writes,
// and takes back the promises that it breaks.
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

// wroteFirst is who wrote the first of some chunks.
func (l *lineage) wroteFirst(rank int32, c chunks) int32 {
	if writer := l.writer.of(rank, c); writer != nil {
		return writer[0]
	}
	return none
}

// descends tells whether operation i is known to come after another.
func (l *lineage) descends(i, other int32) bool {
	for n := 0; n < longestLine && i > other; n++ {
		i = l.before[i]
	}
	return i == other
}
