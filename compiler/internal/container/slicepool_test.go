package container

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A slice from the pool has the requested length, is all zeros, and shares no memory
// with another.
func TestSlicePool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r SlicePool
		var taken [][]int32
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(taken) > 0 && rapid.Bool().Draw(t, "give") {
				k := rapid.IntRange(0, len(taken)-1).Draw(t, "which")
				r.Give(taken[k][:rapid.IntRange(0, len(taken[k])).Draw(t, "of it")])
				taken[k] = taken[len(taken)-1]
				taken = taken[:len(taken)-1]
				continue
			}
			n := rapid.IntRange(0, 9).Draw(t, "n")
			a := r.Take(n)
			if len(a) != n {
				t.Fatalf("%d of %d", len(a), n)
			}
			for i := range a {
				if a[i] != 0 {
					t.Fatalf("%v is not zeros", a)
				}
				a[i] = int32(len(taken)) + 1
			}
			taken = append(taken, a)
			for _, other := range taken[:len(taken)-1] {
				for _, x := range other {
					if n > 0 && x == a[0] && &other[0] == &a[0] {
						t.Fatalf("%v is taken twice", a)
					}
				}
			}
		}
	})
}

// What is kept is what was given last.
func TestSlicePoolKeeps(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 4: nil, 5: {5}, 10: {5}, 12: {7, 5}, 100: {9, 7, 5}} {
		var pool SlicePool
		for _, size := range []int{9, 7, 5} {
			pool.Give(make([]int32, size))
		}
		pool.Keep(n)
		var kept []int
		for _, a := range pool.free {
			kept = append(kept, cap(a))
		}
		if !slices.Equal(kept, want) {
			t.Errorf("of 9, 7 and 5, %d elements: %v are kept, want %v", n, kept, want)
		}
	}
}
