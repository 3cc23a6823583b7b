package lang

import "testing"

// What is traced in the memory of a discarded program is what is traced without.
func TestDiscard(t *testing.T) {
	trace := func(ranks int) *Program {
		w := &writer{Trace: NewTrace("p", coll(t, "allgather", ranks, 1, true))}
		for from := range ranks {
			for to := range ranks {
				if from != to {
					w.copy(w.chunk(from, out, from, 1), to, out, from)
				}
			}
		}
		p, err := w.Finish()
		if w.err != nil || err != nil {
			t.Fatal(w.err, err)
		}
		return p
	}
	for _, ranks := range []int{40, 60, 50, 3} {
		before := trace(ranks)
		before.Discard()
		p := trace(ranks)
		if len(p.Ops) != ranks*(ranks-1) || cap(p.Ops) > 2*len(p.Ops) {
			t.Errorf("%d ranks: %d operations, with room for %d", ranks, len(p.Ops), cap(p.Ops))
		}
		for i := range p.Ops {
			from, to := int32(i/(ranks-1)), int32(i%(ranks-1))
			if to >= from {
				to++
			}
			if op := &p.Ops[i]; op.Src.Rank != from || op.Dst.Rank != to || op.Dst.Index != from {
				t.Fatalf("%d ranks: operation %d is %+v", ranks, i, *op)
			}
		}
	}
}
