package compiler

import (
	"testing"

	"pgregory.net/rapid"
)

// The tracker agrees with an examination of all threadblocks of the rank.
func TestIdleness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prog := &program{instances: int32(rapid.IntRange(1, 3).Draw(t, "instances"))}
		prog.col.Ranks = rapid.IntRange(1, 3).Draw(t, "ranks")
		prog.gpuTBs = []int32{0}
		for r := range prog.col.Ranks {
			for range rapid.IntRange(1, 5).Draw(t, "threadblocks") {
				q := int32(len(prog.tbs))
				tb := threadblock{rank: int32(r), put: q, get: none, instance: rapid.Int32Range(0, prog.instances-1).Draw(t, "key")}
				if rapid.Bool().Draw(t, "receives") {
					tb.put, tb.get = none, q
				}
				prog.tbs, prog.conns = append(prog.tbs, tb), append(prog.conns, conn{from: int32(r), to: int32(r)})
			}
			prog.gpuTBs = append(prog.gpuTBs, int32(len(prog.tbs)))
		}
		latest, byUse := make([]int, len(prog.tbs)), prog.byUse()
		longest := func(rank, key int32) int32 {
			best, own := int32(none), false
			for tb := prog.gpuTBs[rank]; tb < prog.gpuTBs[rank+1]; tb++ {
				mine := prog.instances == 1 || prog.tbs[tb].instance == key
				earlier := best != none && (latest[tb] < latest[best] || latest[tb] == latest[best] && byUse(&prog.tbs[tb], &prog.tbs[best]) < 0)
				if best == none || mine && !own || mine == own && earlier {
					best, own = tb, mine
				}
			}
			return best
		}
		idle := newIdleTracker(prog)
		for at := range rapid.IntRange(0, 40).Draw(t, "instructions") {
			rank, key := rapid.Int32Range(0, int32(prog.col.Ranks)-1).Draw(t, "rank"), rapid.Int32Range(0, prog.instances-1).Draw(t, "of")
			got, want := idle.longestIdle(rank, key), longest(rank, key)
			if got != want {
				t.Fatalf("instruction %d, rank %d instance %d: threadblock %d, want %d", at, rank, key, got, want)
			}
			if rapid.Bool().Draw(t, "elsewhere") {
				got = rapid.Int32Range(0, int32(len(prog.tbs))-1).Draw(t, "threadblock")
			}
			idle.since[got] = int32(at)
			latest[got] = at + 1
		}
	})
}
