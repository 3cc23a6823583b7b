package data

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestRunsOfAnyLength holds the reducers, on runs of any length from any element
// on, into a third or into one of the two, to what they make of each element
// alone.
func TestRunsOfAnyLength(t *testing.T) {
	any := rand.New(rand.NewPCG(5, 6))
	for _, d := range allDTypes {
		size := d.Bytes()
		for _, op := range allOps {
			reduce := Reduction(d, op)
			for n := range 80 {
				first := any.IntN(9)
				runs := make([][]byte, 3)
				p := NewParams(d, op, 2, any.Int64())
				for i := range runs {
					runs[i] = make([]byte, (first+n+2)*size)
					p.Fill(runs[i], i, int64(n))
				}
				into := any.IntN(3)
				want := bytes.Clone(runs[into])
				for i := first; i < first+n; i++ {
					at := func(b []byte) []byte { return b[i*size:][:size] }
					reduce(at(want), at(runs[0]), at(runs[1]))
				}
				cut := func(b []byte) []byte { return b[first*size:][:n*size] }
				reduce(cut(runs[into]), cut(runs[0]), cut(runs[1]))
				if !bytes.Equal(runs[into], want) {
					t.Fatalf("%s %s of %d elements from %d on, into %d: % x, want % x", d, op, n, first, into, runs[into], want)
				}
			}
		}
	}
}
