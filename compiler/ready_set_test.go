package compiler

import (
	"testing"

	"pgregory.net/rapid"
)

// TestReadySetIsASet: what comes out is the least of what is in, each once.
func TestReadySetIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 4096, 4097, 5000}).Draw(t, "numbers")
		s, in := newReadySet(n), map[int32]bool{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				i := int32(rapid.IntRange(0, n-1).Draw(t, "number"))
				s.push(i)
				in[i] = true
				continue
			}
			got, ok := s.pop()
			if ok != (len(in) > 0) {
				t.Fatalf("%v with %d in", ok, len(in))
			}
			for i := range in {
				if i < got {
					t.Fatalf("%d before %d", got, i)
				}
			}
			if ok && !in[got] {
				t.Fatalf("%d, which is not in", got)
			}
			delete(in, got)
		}
	})
}
