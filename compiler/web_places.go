package compiler

import (
	"cmp"
	"slices"
)

// place moves every web to the lowest place available to it, rank by rank, and
// reports whether any moved. Once the work exceeds its limit, the remaining
// ranks keep their layout.
func (w *webs) place() (moved bool) {
	for first, end := 0, 0; first < len(w.webs); first = end {
		rank := w.webs[first].rank
		for end < len(w.webs) && w.webs[end].rank == rank {
			end++
		}
		own := w.webs[first:end]
		size := int32(0)
		for n := range own {
			x := &own[n]
			if w.spent += end - first; w.spent > maxScratchWork {
				for k := range own {
					own[k].delta = 0
				}
				return moved
			}
			if !x.pinned {
				x.delta = w.lowestPlace(own, n) - x.from
			}
			size = max(size, x.to+x.delta)
		}
		for n := range own {
			moved = moved || own[n].delta != 0
		}
		w.prog.scratch[rank] = size
	}
	return moved
}

// lowestPlace returns the lowest place for the n-th web of a rank, given the
// webs placed before it and those that must stay.
func (w *webs) lowestPlace(all []web, n int) int32 {
	taken, free := w.taken[:0], w.free[:0]
	defer func() { w.taken, w.free = taken, free }()
	tried, x := 0, &all[n]
	if w.writtenAtStart(x) {
		tried = maxTried // no operation precedes it, so no place can be free before it
	}
	// The latest web first: places that it took over from earlier webs are then
	// free as well.
	for k := len(all) - 1; k >= 0; k-- {
		v := &all[k]
		if k == n || k > n && !v.pinned {
			continue
		}
		at := reach{v.from + v.delta, v.to + v.delta}
		if k < n && slices.ContainsFunc(free, func(f reach) bool { return f.from <= at.from && at.to <= f.to }) {
			continue
		}
		if tried < maxTried && v.touches[len(v.touches)-1] < x.touches[0] {
			tried++
			if w.completesBefore(v, x) {
				free = append(free, at)
				continue
			}
		}
		taken = append(taken, at)
	}
	slices.SortFunc(taken, func(a, b reach) int { return cmp.Compare(a.from, b.from) })
	at, width := int32(0), x.to-x.from
	for _, t := range taken {
		if t.from-at >= width {
			break
		}
		at = max(at, t.to)
	}
	return at
}

// writtenAtStart reports whether an operation without dependencies writes a
// value of x.
func (w *webs) writtenAtStart(x *web) bool {
	return slices.ContainsFunc(x.begins, func(b int32) bool {
		return len(w.prog.srcDeps.row(b)) == 0 && len(w.prog.dstDeps.row(b)) == 0
	})
}

// completesBefore reports whether every access to v is complete whenever x is
// first written.
func (w *webs) completesBefore(v, x *web) bool {
	return !slices.ContainsFunc(x.begins, func(b int32) bool { return !w.reachesAll(v, b) })
}

// reachesAll reports whether operation b, where it writes at v's rank, depends
// on all operations that access v. It searches dependencies backwards.
func (w *webs) reachesAll(v *web, b int32) bool {
	prog := w.prog
	// A node is 2·operation for the end at which it reads, and one more for the
	// end at which it writes, if that is another rank.
	part := func(o, rank int32) int32 {
		if x := &prog.ops[o]; !x.local() && x.dst == rank {
			return 2*o + 1
		}
		return 2 * o
	}
	if w.seen == nil {
		w.seen, w.sought = make([]int32, 2*len(prog.ops)), make([]int32, 2*len(prog.ops))
	}
	w.query++
	left := len(v.touches)
	for _, t := range v.touches {
		w.sought[part(t, v.rank)] = w.query
	}
	queue := w.queue[:0]
	defer func() { w.queue = queue }()
	push := func(n int32) {
		if n/2 >= v.touches[0] && w.seen[n] != w.query {
			w.seen[n] = w.query
			queue = append(queue, n)
			if w.sought[n] == w.query {
				left--
			}
		}
	}
	after := func(n int32) {
		o, x := n/2, &prog.ops[n/2]
		if n%2 == 1 {
			push(2 * o) // it also waits for the message's sender
		}
		if n%2 == 1 || x.local() {
			for _, d := range prog.dstDeps.row(o) {
				push(part(d, x.dst))
			}
		}
		if n%2 == 0 {
			for _, d := range prog.srcDeps.row(o) {
				push(part(d, x.src))
			}
		}
	}
	after(part(b, v.rank))
	for budget := maxAncestors; len(queue) > 0 && left > 0 && budget > 0; budget-- {
		if w.spent++; w.spent > maxScratchWork {
			return false
		}
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		after(n)
	}
	return left == 0
}
