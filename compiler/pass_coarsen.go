package compiler

// coarsen merges chunks that are always accessed together: if all offsets and
// counts share a factor, chunks become larger by that factor.
//
//	copy rank 0 in[0:4] → rank 1 sc[0:4]        copy rank 0 in[0:2] → rank 1 sc[0:2]
//	copy rank 0 in[6:8] → rank 1 sc[4:6]        copy rank 0 in[3] → rank 1 sc[2]
//
// Replication produces such programs: two instances of a reference of two chunks
// are simply its two chunks. Fewer chunks work for more sizes, because a runtime
// falls back where the chunks do not divide the number of elements, and steps of
// fewer chunks occupy fewer slots. A program with strided references is left
// alone: next to each of a strided reference's chunks lies one that it does not
// touch, so no larger chunk would hold only chunks of the reference.
func coarsen(prog *program) error {
	by := int64(prog.col.Chunks)
	for i := range prog.ops {
		o := &prog.ops[i]
		if o.strided() {
			return nil // its chunks are distinguished from those between them
		}
		by = gcd(by, gcd(int64(o.count), gcd(int64(o.srcOff), int64(o.dstOff))))
		if by == 1 {
			return nil
		}
	}
	if by == 1 || len(prog.ops) == 0 {
		return nil
	}
	g := int32(by)
	for i := range prog.ops {
		o := &prog.ops[i]
		o.count, o.srcOff, o.dstOff = o.count/g, o.srcOff/g, o.dstOff/g
	}
	prog.col.Chunks /= int(by)
	for r, n := range prog.scratch {
		prog.scratch[r] = (n + g - 1) / g
	}
	return nil
}
