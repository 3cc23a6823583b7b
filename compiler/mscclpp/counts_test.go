package mscclpp

import (
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/verify"
)

// Vectors that are made from one another in any order are what plain ones would be, and
// those they were made from are unchanged.
func TestCountsArePlainVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, countsInPage, countsInPage + 1, countsInGroup, 2*countsInGroup + 3}).Draw(t, "n")
		made, plain := []counts{newCounts(n)}, [][]int32{make([]int32, n)}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			a := rapid.IntRange(0, len(made)-1).Draw(t, "a")
			if b := rapid.IntRange(-len(made), len(made)-1).Draw(t, "b"); b < 0 {
				i, x := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.Int32Range(0, 3).Draw(t, "x")
				made, plain = append(made, made[a].with(i, x)), append(plain, slices.Clone(plain[a]))
				plain[len(plain)-1][i] = x
			} else {
				c, _ := made[a].max(made[b])
				made, plain = append(made, c), append(plain, slices.Clone(plain[a]))
				for i, x := range plain[b] {
					plain[len(plain)-1][i] = max(plain[a][i], x)
				}
			}
		}
		for v := range made {
			for i, want := range plain[v] {
				if got := made[v].at(i); got != want {
					t.Fatalf("number %d of vector %d: %d; want %d", i, v, got, want)
				}
			}
		}
	})
}

// All that writing and verifying a plan over 32 ranks allocates, in bytes a step of its
// program, is the same for few and for many threadblocks. (Each clock a plain vector, it
// was 119,000 and 214,000.)
func TestMemoryOfManyThreadblocks(t *testing.T) {
	for _, c := range []struct{ instances, threadblocks int }{{4, 736}, {8, 1472}} {
		p := irtest.Ring(32, c.instances, 0, true)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		plan, err := Lower(p, LowerOptions{Protocol: protocolSimple, TileBytes: 1 << 20, Node: func(rank int) int { return rank / 8 }})
		if err != nil {
			t.Fatal(err)
		}
		v := Verify(plan, verify.Options{})
		runtime.ReadMemStats(&after)
		if !v.Accepts {
			t.Fatal(v.Report.Err(), v.Why)
		}
		n := 0
		for g := range plan.GPUs {
			n += len(plan.GPUs[g].Threadblocks)
		}
		steps := 0
		for g := range p.GPUs {
			for i := range p.GPUs[g].Threadblocks {
				steps += len(p.GPUs[g].Threadblocks[i].Steps)
			}
		}
		const most = 40_000
		if bytes := int(after.TotalAlloc-before.TotalAlloc) / steps; n != c.threadblocks || bytes > most {
			t.Errorf("%d threadblocks: %d bytes a step; want %d threadblocks, at most %d bytes", n, bytes, c.threadblocks, most)
		} else {
			t.Logf("%d threadblocks: %d bytes a step", n, bytes)
		}
	}
}
