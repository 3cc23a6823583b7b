package export

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSameTile(t *testing.T) {
	for _, c := range []struct {
		name     string
		chunk    int64
		maxCount int
		a, b     int64
		want     bool
	}{
		{"equal", 1 << 30, 1, 4096, 4096, true},
		{"chunk fits both", 4096, 1, 4096, 8192, true},
		{"chunk fits one", 8192, 1, 4096, 8192, false},
		{"chunk fits none", 16384, 1, 4096, 8192, false},
		{"both chunks of a step fit one only", 4096, 2, 4096, 8192, false},
		{"both chunks of a step fit both", 4096, 2, 8192, 16384, true},
		{"three of a step, two a call or more", 4096, 3, 8192, 12288, false},
		{"never more than 71 a call", 1, 1000, 100, 10000, true},
	} {
		if got := SameTile(c.chunk, c.maxCount, c.a, c.b); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// SameTile is an equivalence, and what it calls alike loops and calls alike.
func TestSameTileIsAnEquivalence(t *testing.T) {
	calls := func(count int, chunk, tile int64) (n int64) {
		most := min(max(tile/chunk, 1), 71)
		return (int64(count) + most - 1) / most
	}
	rapid.Check(t, func(t *rapid.T) {
		chunk := rapid.Int64Range(1, 300).Draw(t, "chunk")
		maxCount := rapid.IntRange(1, 100).Draw(t, "count")
		tiles := rapid.SliceOfN(rapid.Int64Range(1, 1000), 3, 3).Draw(t, "tiles")
		same := func(i, j int) bool { return SameTile(chunk, maxCount, tiles[i], tiles[j]) }
		if same(0, 1) != same(1, 0) {
			t.Fatal("not symmetric")
		}
		if same(0, 1) && same(1, 2) && !same(0, 2) {
			t.Fatal("not transitive")
		}
		if !same(0, 1) {
			return
		}
		loops := func(tile int64) int64 { return (chunk + tile - 1) / tile }
		if loops(tiles[0]) != loops(tiles[1]) {
			t.Fatalf("%d and %d loops", loops(tiles[0]), loops(tiles[1]))
		}
		for count := 1; count <= maxCount; count++ {
			if a, b := calls(count, chunk, tiles[0]), calls(count, chunk, tiles[1]); a != b {
				t.Fatalf("a step of %d chunks makes %d and %d calls", count, a, b)
			}
		}
	})
}

func TestChunkBytes(t *testing.T) {
	for _, c := range []struct {
		bytes, elem int64
		chunks      int
		want        int64
	}{{1024, 4, 8, 128}, {1024, 4, 192, 8}, {4, 4, 8, 4}, {1 << 30, 2, 3, 357913942}, {10, 4, 1, 12}} {
		if got := ChunkBytes(c.bytes, c.elem, c.chunks); got != c.want {
			t.Errorf("%d bytes of %d in %d chunks: %d, want %d", c.bytes, c.elem, c.chunks, got, c.want)
		}
	}
}
