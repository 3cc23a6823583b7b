package container

import (
	"testing"

	"pgregory.net/rapid"
)

// TestConnTable holds the table to a map, through its growth.
func TestConnTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, known := NewConnTable(), map[ConnKey]int32{}
		ranks := rapid.Int32Range(1, 64).Draw(t, "ranks")
		for range rapid.IntRange(0, 40).Draw(t, "runs") {
			k := ConnKey{rapid.Int32Range(0, ranks).Draw(t, "from"), 0, rapid.Int32Range(0, 2).Draw(t, "key"), rapid.Int32Range(-1, 2).Draw(t, "channel")}
			for k.To = range ranks {
				n, made := table.Number(k)
				want, before := known[k]
				if !before {
					want = int32(len(known))
					known[k] = want
				}
				if n != want || made == before {
					t.Fatalf("%v is %d, new %v: want %d, %v", k, n, made, want, !before)
				}
			}
		}
	})
}
