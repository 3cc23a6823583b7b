package compiler

// dependencyChain records for every operation one earlier operation that it
// must wait for, namely the writer of what it reads. These form a chain back to
// the first operation:
//
//	0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]
//	1 copy rank 1 sc[0] → rank 2 out[0]                after 0
//	2 copy rank 2 out[0] → rank 1 in[0]                after 1, and so after 0
//
// A sum may read a place that is overwritten later if the overwriting operation
// depends on the sum by this chain: then no new wait arises. That is known only
// once the overwriting operation is visited. Until then the sum's read is
// tentative, and it is undone if the operation turns out not to depend on the
// sum.
type dependencyChain struct {
	copies    *copyPropagation
	pred      []int32           // by operation: an operation it waits for, or none
	writer    chunkTable[int32] // of buffers that are read and written: the last writer so far
	tentative chunkTable[int32] // of buffers that are copied from, to be read there, and written: the sum that tentatively reads it, or none
	reads     bool              // there are tentative reads
}

// maxChainLength limits how many operations back a sum is searched for.
const maxChainLength = 1 << 8

func newDependencyChain(f *copyPropagation) dependencyChain {
	return dependencyChain{
		copies: f, pred: f.prog.pool.Take(len(f.prog.ops)),
		writer: newIndexTable(f.prog, f.uses, reads|writes), tentative: newIndexTable(f.prog, f.uses, copyFromToRead|writes),
	}
}

// readTentatively lets sum i read some chunks, unless another sum tentatively
// reads any of them. It reports whether it does.
func (l *dependencyChain) readTentatively(rank int32, c chunks, i int32) bool {
	reader := l.tentative.of(rank, c)
	for k := 0; k < len(reader); k += int(c.stride) {
		if reader[k] != none {
			return false
		}
	}
	l.tentative.set(rank, c, i)
	l.reads = l.reads || reader != nil
	return true
}

// recordWrite records the predecessor and the writes of operation i, whose
// places are final now, and undoes the tentative reads that it invalidates.
func (l *dependencyChain) recordWrite(i int32) {
	if l.copies == nil {
		return
	}
	o := &l.copies.prog.ops[i]
	src, dst := o.ends()
	l.pred[i] = none
	if o.reduce {
		l.pred[i] = l.writerOf(o.dst, o.with())
	}
	if l.pred[i] == none {
		l.pred[i] = l.writerOf(o.src, src)
	}
	reader := l.tentative.of(o.dst, dst)
	for k := 0; l.reads && k < len(reader); k += int(dst.stride) {
		if sum := reader[k]; sum != none && !l.dependsOn(i, sum) {
			r := &l.copies.prog.ops[sum]
			_, own := r.ends()
			r.setWith(own)
		}
	}
	l.writer.set(o.dst, dst, i)
}

// writerOf returns the last writer of the first of some chunks, or none.
func (l *dependencyChain) writerOf(rank int32, c chunks) int32 {
	if writer := l.writer.of(rank, c); writer != nil {
		return writer[0]
	}
	return none
}

// dependsOn reports whether the chain from operation i leads to the other
// operation.
func (l *dependencyChain) dependsOn(i, other int32) bool {
	for n := 0; n < maxChainLength && i > other; n++ {
		i = l.pred[i]
	}
	return i == other
}
