package compiler

import (
	"cmp"
	"slices"
)

// oldestFirst numbers the instances of each contiguous reference by when what they move was
// written, instead of by its place in the buffer.
//
//	rank 0 has chunk 0, gets 1, and sends 0 and 1 in two instances:   in[0]  in[1]
//	rank 1 has chunk 1, gets 0, and does the same:                    in[1]  in[0]
//
// By place, instance 0 would wait for a message on rank 1 and not on rank 0, so that ranks
// that do the same would be given different programs.
type oldestFirst struct {
	writer chunkTable[int32] // by chunk: the operation that wrote it last, or none
	runs   []agedRun
}

// agedRun is the operation of one instance, and the last that wrote what it reads.
type agedRun struct {
	op  op
	age int32
}

// add numbers the instances of the last operation, ops[first:].
func (w *oldestFirst) add(ops []op, first int) {
	if added := ops[first:]; !added[0].strided() {
		w.sort(added)
	}
	for i := first; i < len(ops); i++ {
		_, dst := ops[i].ends()
		w.writer.set(ops[i].dst, dst, int32(i))
	}
}

func (w *oldestFirst) sort(ops []op) {
	w.runs = w.runs[:0]
	for _, o := range ops {
		src, _ := o.ends()
		age := int32(none)
		for _, i := range w.writer.of(o.src, src) {
			age = max(age, i)
		}
		w.runs = append(w.runs, agedRun{o, age})
	}
	slices.SortStableFunc(w.runs, func(a, b agedRun) int { return cmp.Compare(a.age, b.age) })
	for j, r := range w.runs {
		r.op.instance = ops[j].instance
		ops[j] = r.op
	}
}
