package collective

import "testing"

func TestPlaceOfInPlaceForms(t *testing.T) {
	for _, c := range []struct {
		spec       Spec
		rank       int
		buf        Buffer
		index      int
		wantBuf    Buffer
		wantIndex  int
		loopChunks int
	}{
		{Spec{Name: "allreduce", Ranks: 4, Chunks: 8, InPlace: true}, 2, Out, 3, In, 3, 8},
		{Spec{Name: "allgather", Ranks: 4, Chunks: 2, InPlace: true}, 2, In, 1, Out, 5, 8},
		{Spec{Name: "reducescatter", Ranks: 4, Chunks: 2, InPlace: true}, 3, Out, 1, In, 7, 8},
		{Spec{Name: "alltoall", Ranks: 4, Chunks: 2}, 3, Out, 1, Out, 1, 8},
		{Spec{Name: "gather", Ranks: 4, Chunks: 2, Root: 1}, 3, In, 1, In, 1, 8},
	} {
		col, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if b, i := col.Place(c.rank, c.buf, c.index); b != c.wantBuf || i != c.wantIndex {
			t.Errorf("%+v: rank %d %v[%d] lies at %v[%d], want %v[%d]", c.spec, c.rank, c.buf, c.index, b, i, c.wantBuf, c.wantIndex)
		}
		if got := col.LoopChunks(); got != c.loopChunks {
			t.Errorf("%+v: %d loop chunks, want %d", c.spec, got, c.loopChunks)
		}
	}
}

func TestDefaultPlacement(t *testing.T) {
	in := map[string]bool{"allreduce": true, "reduce": true, "broadcast": true}
	for _, name := range Names() {
		if DefaultInPlace(name) != in[name] {
			t.Errorf("%s: in place %t by default, want %t", name, DefaultInPlace(name), in[name])
		}
	}
}
