package compiler

import (
	"cmp"
	"slices"
)

// idleness knows the threadblock that has been idle longest, of every rank and of
// every instance there. Of several that have done nothing it is the one whose
// connection is used first, so that nothing depends on how ranks are numbered.
//
//	idle longest   tb 4 ─ tb 1 ─ tb 7   last at work
//	               tb 1 ─ tb 7 ─ tb 4   once tb 4 was given a copy
type idleness struct {
	ofRank queues
	ofKey  queues
	key    map[instance]int32 // its queue in ofKey; nil where there is but one
}

// instance is one at a rank.
type instance struct{ rank, key int32 }

// queues are threadblocks in line, each in one queue.
type queues struct {
	head, tail []int32 // by queue
	of         []int32 // by threadblock: its queue
	next, prev []int32 // by threadblock
}

// newIdleness puts all threadblocks in line, before any has done anything.
func newIdleness(u *unit) *idleness {
	n := len(u.tbs)
	order := make([]int32, n)
	for tb := range order {
		order[tb] = int32(tb)
	}
	for r := range u.col.Ranks {
		slices.SortFunc(order[u.gpuTBs[r]:u.gpuTBs[r+1]], func(a, b int32) int { return cmp.Compare(u.use(a), u.use(b)) })
	}
	w := &idleness{ofRank: newQueues(u.col.Ranks, n)}
	for _, tb := range order {
		w.ofRank.enter(tb, u.tbs[tb].rank)
	}
	if u.keys == 1 {
		return w
	}
	w.key = map[instance]int32{}
	for tb := range u.tbs {
		at := instance{u.tbs[tb].rank, u.tbs[tb].key}
		if _, known := w.key[at]; !known {
			w.key[at] = int32(len(w.key))
		}
	}
	w.ofKey = newQueues(len(w.key), n)
	for _, tb := range order {
		w.ofKey.enter(tb, w.key[instance{u.tbs[tb].rank, u.tbs[tb].key}])
	}
	return w
}

// longest is the rank's threadblock for a local instruction: of those of its
// instance, or of all where it has none.
func (w *idleness) longest(rank, key int32) int32 {
	if q, ok := w.key[instance{rank, key}]; ok {
		return w.ofKey.head[q]
	}
	return w.ofRank.head[rank]
}

// works notes that a threadblock has an instruction after all that others have.
func (w *idleness) works(tb int32) {
	w.ofRank.last(tb)
	if w.key != nil {
		w.ofKey.last(tb)
	}
}

func newQueues(n, tbs int) queues {
	return queues{head: filled(n), tail: filled(n), of: make([]int32, tbs), next: make([]int32, tbs), prev: make([]int32, tbs)}
}

// filled is n times none.
func filled(n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = none
	}
	return s
}

// enter puts a threadblock at the end of a queue.
func (q *queues) enter(tb, queue int32) {
	q.of[tb] = queue
	q.next[tb], q.prev[tb] = none, q.tail[queue]
	if before := q.tail[queue]; before == none {
		q.head[queue] = tb
	} else {
		q.next[before] = tb
	}
	q.tail[queue] = tb
}

// last moves a threadblock to the end of its queue.
func (q *queues) last(tb int32) {
	queue, next, prev := q.of[tb], q.next[tb], q.prev[tb]
	if next == none {
		return
	}
	q.prev[next] = prev
	if prev == none {
		q.head[queue] = next
	} else {
		q.next[prev] = next
	}
	q.enter(tb, queue)
}
