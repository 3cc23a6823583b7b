package compiler

import "slices"

// idleTracker finds the threadblock that has been idle longest, for each rank
// and for each instance on a rank. Threadblocks that have done nothing yet are
// ordered by when their connection is first used, so that the result does not
// depend on the numbering of ranks.
//
// When a threadblock works, only the time is recorded; its position in the heap
// is updated when it reaches the top. Most instructions go to the threadblock
// of their connection and never need the heap.
//
//	          tb 4 (2)                      tb 1 (3)     in brackets: idle since
//	tb 1 (3)   tb 7 (8)   tb 4 works at 9   tb 4 (9)   tb 7 (8)
type idleTracker struct {
	since      []int32 // by threadblock: order position of its last instruction; negative if none yet
	ofRank     tbHeaps
	ofInstance tbHeaps
	key        map[rankInstance]int32 // heap of each instance in ofInstance; nil if there is a single instance
}

type rankInstance struct{ rank, instance int32 }

// tbHeaps is a set of disjoint heaps of threadblocks, ordered by heapTime.
type tbHeaps struct {
	heaps    [][]int32 // by rank, or by instance on a rank
	heapTime []int32   // by threadblock: the time its position in the heap is based on
}

// newIdleTracker adds all threadblocks to their heaps.
func newIdleTracker(prog *program) *idleTracker {
	n := len(prog.tbs)
	w := &idleTracker{since: make([]int32, n), ofRank: tbHeaps{make([][]int32, prog.col.Ranks), nil}}
	order := make([]int32, n)
	for tb := range order {
		order[tb] = int32(tb)
	}
	byUse := prog.byUse()
	for r := range prog.col.Ranks {
		own := order[prog.gpuTBs[r]:prog.gpuTBs[r+1]:prog.gpuTBs[r+1]]
		slices.SortFunc(own, func(a, b int32) int { return byUse(&prog.tbs[a], &prog.tbs[b]) })
		for k, tb := range own {
			w.since[tb] = int32(k - len(own))
		}
		w.ofRank.heaps[r] = own
	}
	w.ofRank.heapTime = slices.Clone(w.since)
	if prog.instances == 1 {
		return w
	}
	w.key, w.ofInstance.heapTime = map[rankInstance]int32{}, slices.Clone(w.since)
	for _, tb := range order {
		at := rankInstance{prog.tbs[tb].rank, prog.tbs[tb].instance}
		line, known := w.key[at]
		if !known {
			line = int32(len(w.key))
			w.key[at], w.ofInstance.heaps = line, append(w.ofInstance.heaps, nil)
		}
		w.ofInstance.heaps[line] = append(w.ofInstance.heaps[line], tb)
	}
	return w
}

// longestIdle returns the rank's threadblock for a local instruction: the one idle
// longest of its instance, or of the whole rank if the instance has none there.
func (w *idleTracker) longestIdle(rank, key int32) int32 {
	if line, ok := w.key[rankInstance{rank, key}]; ok {
		return w.ofInstance.first(line, w.since)
	}
	return w.ofRank.first(rank, w.since)
}

// first returns the threadblock of a heap that has been idle longest. It first
// moves down those whose heapTime is out of date.
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
