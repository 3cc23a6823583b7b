package lang

import (
	"runtime"
	"testing"
)

// Over many ranks a trace takes memory for the links that are used, and not for
// every pair of ranks, which would be 4 GB here. Each link is asked for once
// all the same.
func TestLinksOfManyRanks(t *testing.T) {
	for _, ranks := range []int{sparseRanks, sparseRanks + 1, 1 << 16} {
		tr := NewTrace("test", coll(t, "broadcast", ranks, 1, true))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		asked := 0
		tr.SetLinked(func(a, b int) bool { asked++; return b == a+1 })
		for range 3 {
			for a := range 100 {
				if tr.checkLink(a, a+1) != nil || tr.checkLink(a+1, a) == nil {
					t.Fatalf("%d ranks: the link from %d on is another", ranks, a)
				}
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 32<<20 {
			t.Errorf("%d ranks: %d bytes for 200 links", ranks, took)
		}
		if asked != 200 {
			t.Errorf("%d ranks: 200 links were asked for %d times", ranks, asked)
		}
	}
}
