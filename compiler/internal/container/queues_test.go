package container

import (
	"testing"

	"pgregory.net/rapid"
)

// A queue returns the least number in it, each once.
func TestQueues(t *testing.T) {
	type queue interface {
		Push(int32)
		Pop() (int32, bool)
	}
	for name, empty := range map[string]func(n int) queue{
		"heap":      func(int) queue { return &Heap{} },
		"ready set": func(n int) queue { return NewReadySet(n) },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 4096, 4097, 5000}).Draw(t, "numbers")
				q, in := empty(n), map[int32]bool{}
				for range rapid.IntRange(0, 200).Draw(t, "steps") {
					if rapid.Bool().Draw(t, "push") {
						if i := int32(rapid.IntRange(0, n-1).Draw(t, "number")); !in[i] {
							q.Push(i)
							in[i] = true
						}
						continue
					}
					got, ok := q.Pop()
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
		})
	}
}
