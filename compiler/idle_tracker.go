package compiler

import (
	"cmp"
	"slices"
)

// idleness finds the threadblock that has been idle longest, for each rank and for
// each instance there. Ties between threadblocks that have done nothing go to the
// one whose connection is used first, so that the result does not depend on how
// ranks are numbered.
//
// When a threadblock works, only the time is noted; it moves to its new position
// in the heap when it reaches the top. Most instructions go to the threadblock of
// their connection and never need the heap.
//
//	          tb 4 (2)                      tb 1 (3)     in brackets: since when
//	tb 1 (3)   tb 7 (8)   tb 4 works at 9   tb 4 (9)   tb 7 (8)
type idleTracker struct {
	since      []int32 // by threadblock: when it worked last; negative if it has not yet
	ofRank     tbHeaps
	ofInstance tbHeaps
	key        map[rankInstance]int32 // line of each instance in ofKey; nil if there is a single instance
}

// instance is one instance's part of a rank.
type rankInstance struct{ rank, instance int32 }

// lines holds disjoint heaps of threadblocks, each ordered by when they worked
// last as far as the heap knows.
type tbHeaps struct {
	heaps    [][]int32 // by line
	heapTime []int32   // by threadblock: the time its position is based on
}

// newIdleness puts all threadblocks into their heaps, before any has worked.
func newIdleTracker(u *program) *idleTracker {
	n := len(u.tbs)
	w := &idleTracker{since: make([]int32, n), ofRank: tbHeaps{make([][]int32, u.col.Ranks), nil}}
	order := make([]int32, n)
	for tb := range order {
		order[tb] = int32(tb)
	}
	for r := range u.col.Ranks {
		own := order[u.gpuTBs[r]:u.gpuTBs[r+1]:u.gpuTBs[r+1]]
		slices.SortFunc(own, func(a, b int32) int { return cmp.Compare(u.canonicalID(a), u.canonicalID(b)) })
		for k, tb := range own {
			w.since[tb] = int32(k - len(own))
		}
		w.ofRank.heaps[r] = own
	}
	w.ofRank.heapTime = slices.Clone(w.since)
	if u.instances == 1 {
		return w
	}
	w.key, w.ofInstance.heapTime = map[rankInstance]int32{}, slices.Clone(w.since)
	for _, tb := range order {
		at := rankInstance{u.tbs[tb].rank, u.tbs[tb].instance}
		line, known := w.key[at]
		if !known {
			line = int32(len(w.key))
			w.key[at], w.ofInstance.heaps = line, append(w.ofInstance.heaps, nil)
		}
		w.ofInstance.heaps[line] = append(w.ofInstance.heaps[line], tb)
	}
	return w
}

// longest returns the rank's threadblock for a local instruction: the one idle
// longest of its instance, or of the whole rank if the instance has none there.
func (w *idleTracker) longestIdle(rank, key int32) int32 {
	if line, ok := w.key[rankInstance{rank, key}]; ok {
		return w.ofInstance.first(line, w.since)
	}
	return w.ofRank.first(rank, w.since)
}

// works notes that threadblock tb is given an instruction at position now of the
// order.
func (w *idleTracker) recordWork(tb, now int32) { w.since[tb] = now }

// first returns the threadblock of a heap that has been idle longest. On the way
// it moves those down that have worked since the heap last looked.
func (l *tbHeaps) first(line int32, since []int32) int32 {
	q := l.heaps[line]
	for {
		tb := q[0]
		if l.heapTime[tb] == since[tb] {
			return tb
		}
		l.heapTime[tb] = since[tb]
		at := 0
		for {
			down := 2*at + 1
			if down+1 < len(q) && l.heapTime[q[down+1]] < l.heapTime[q[down]] {
				down++
			}
			if down >= len(q) || l.heapTime[q[down]] > l.heapTime[tb] {
				break
			}
			q[at] = q[down]
			at = down
		}
		q[at] = tb
	}
}
