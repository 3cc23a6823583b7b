package compiler

import (
	"cmp"
	"slices"
)

// idleness knows the threadblock that has been idle longest, of every rank and of
// every instance there. Of several that have done nothing it is the one whose
// connection is used first, so that nothing depends on how ranks are numbered.
//
// That one has worked is noted beside it, and it finds its new place among the
// others only when it comes up: most instructions are given to the threadblock of
// their connection, and never ask.
//
//	          tb 4 (2)                      tb 1 (3)     in brackets: since when
//	tb 1 (3)   tb 7 (8)   tb 4 works at 9   tb 4 (9)   tb 7 (8)
type idleness struct {
	since  []int32 // by threadblock: when it worked last; below 0 where it has not yet
	ofRank lines
	ofKey  lines
	key    map[instance]int32 // its line in ofKey; nil where there is but one
}

// instance is one at a rank.
type instance struct{ rank, key int32 }

// lines are threadblocks, each in one line: a heap by when they worked last, as far
// as is known in line.
type lines struct {
	of    [][]int32 // by line
	known []int32   // by threadblock
}

// newIdleness puts all threadblocks in line, before any has done anything.
func newIdleness(u *unit) *idleness {
	n := len(u.tbs)
	w := &idleness{since: make([]int32, n), ofRank: lines{make([][]int32, u.col.Ranks), nil}}
	order := make([]int32, n)
	for tb := range order {
		order[tb] = int32(tb)
	}
	for r := range u.col.Ranks {
		own := order[u.gpuTBs[r]:u.gpuTBs[r+1]:u.gpuTBs[r+1]]
		slices.SortFunc(own, func(a, b int32) int { return cmp.Compare(u.use(a), u.use(b)) })
		for k, tb := range own {
			w.since[tb] = int32(k - len(own))
		}
		w.ofRank.of[r] = own
	}
	w.ofRank.known = slices.Clone(w.since)
	if u.keys == 1 {
		return w
	}
	w.key, w.ofKey.known = map[instance]int32{}, slices.Clone(w.since)
	for _, tb := range order {
		at := instance{u.tbs[tb].rank, u.tbs[tb].key}
		line, known := w.key[at]
		if !known {
			line = int32(len(w.key))
			w.key[at], w.ofKey.of = line, append(w.ofKey.of, nil)
		}
		w.ofKey.of[line] = append(w.ofKey.of[line], tb)
	}
	return w
}

// longest is the rank's threadblock for a local instruction: of those of its
// instance, or of all where it has none.
func (w *idleness) longest(rank, key int32) int32 {
	if line, ok := w.key[instance{rank, key}]; ok {
		return w.ofKey.first(line, w.since)
	}
	return w.ofRank.first(rank, w.since)
}

// works notes that a threadblock has an instruction after all that others have.
func (w *idleness) works(tb, now int32) { w.since[tb] = now }

// first is the threadblock of a line that has been idle longest; those that have
// worked meanwhile are moved back on the way.
func (l *lines) first(line int32, since []int32) int32 {
	q := l.of[line]
	for {
		tb := q[0]
		if l.known[tb] == since[tb] {
			return tb
		}
		l.known[tb] = since[tb]
		at := 0
		for {
			down := 2*at + 1
			if down+1 < len(q) && l.known[q[down+1]] < l.known[q[down]] {
				down++
			}
			if down >= len(q) || l.known[q[down]] > l.known[tb] {
				break
			}
			q[at] = q[down]
			at = down
		}
		q[at] = tb
	}
}
