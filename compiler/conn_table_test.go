package compiler

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRegister holds the table to a map, through its growth.
func TestRegister(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		register, known := newConnTable(), map[connKey]int32{}
		ranks := rapid.Int32Range(1, 64).Draw(t, "ranks")
		for range rapid.IntRange(0, 40).Draw(t, "runs") {
			k := connKey{rapid.Int32Range(0, ranks).Draw(t, "from"), 0, rapid.Int32Range(0, 2).Draw(t, "key"), rapid.Int32Range(-1, 2).Draw(t, "channel")}
			for k.to = range ranks {
				n, made := register.number(k)
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
