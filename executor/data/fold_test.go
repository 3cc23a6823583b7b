package data

import (
	"bytes"
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// TestManyAtATime holds what is done for many elements at a time to Params.Value:
// fills that begin anywhere, and folds of several parts, of which the last is
// short.
func TestManyAtATime(t *testing.T) {
	const n = leastPart + blockElements + 3
	for _, d := range allDTypes {
		for _, op := range allOps {
			for _, terms := range []int{0, 3, 5000} { // the last with turns, for some types
				p := NewParams(d, op, terms, 7)
				got := make([]byte, 1501*d.Bytes())
				p.Fill(got, 4, 1<<33-5)
				for i := range len(got) / d.Bytes() {
					if is, want := get(got[i*d.Bytes():], d.Bytes()), p.Value(4, 1<<33-5+int64(i)); is != want {
						t.Fatalf("%s %s of %d terms: element %d is filled in as %#x, want %#x", d, op, terms, i, is, want)
					}
				}
			}
			col, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 3, Chunks: 2})
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewReference(col, int64(2*n*d.Bytes()), d, op, 1)
			if err != nil {
				t.Fatal(err)
			}
			got, want := r.reduced(1), make([]byte, n*d.Bytes())
			for i := range int64(n) {
				put(want[i*int64(d.Bytes()):], d.Bytes(), plainly(r, 1, i))
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s %s: the reduction of %d elements is not that of each", d, op, n)
			}
		}
	}
}

// plainly is an element of the reduction of a chunk over all ranks.
func plainly(r *Reference, chunk int, element int64) uint64 {
	float, whole := 0.0, int64(0)
	d, unused := r.DType, 64-8*r.DType.Bytes()
	for rank := range r.Collective.Ranks {
		bits := r.Params.Value(rank, r.Layout.Start(chunk)+element)
		x, i := r.Params.number(uint32(rank), uint64(r.Layout.Start(chunk)+element)), int64(bits<<unused)>>unused
		if !d.Signed() {
			i = int64(bits)
		}
		less := i < whole
		if d == U64 {
			less = uint64(i) < uint64(whole)
		}
		switch {
		case rank == 0:
			float, whole = x, i
		case r.Op == Prod:
			float, whole = float*x, whole*i
		case r.Op == Min:
			float = math.Min(float, x)
			if less {
				whole = i
			}
		case r.Op == Max:
			float = math.Max(float, x)
			if !less {
				whole = i
			}
		default:
			float, whole = float+x, whole+i
		}
	}
	ranks := r.Collective.Ranks
	switch {
	case d.Float() && r.Op == Avg:
		return toBits(d, float/float64(ranks))
	case d.Float():
		return toBits(d, float)
	case r.Op == Avg && d.Signed():
		return uint64(whole<<unused>>unused/int64(ranks)) & mask(d)
	case r.Op == Avg:
		return uint64(whole) & mask(d) / uint64(ranks)
	}
	return uint64(whole) & mask(d)
}
