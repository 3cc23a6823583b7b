package compiler

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// scratch gives scratch chunks to several values in turn, and gives back those
// that no operation touches.
//
//	0 copy rank 0 in[0] → rank 1 sc[0]       the same
//	1 copy rank 1 sc[0] → rank 0 sc[0]       the same
//	2 copy rank 0 sc[0] → rank 1 sc[1]       copy rank 0 sc[0] → rank 1 sc[0]
//
// Values that one operation touches stay where they are to one another: they move
// together, as a web, and with them whatever lies between the chunks of a strided
// reference. A web takes the places of another only where everything
// that touches the other comes before it anyway, so that no wait is added; and
// since every tile has its own part of scratch, what holds in one holds in all.
//
// Where there are more webs than can be looked through at every rank, none moves:
// it is the rank with the most scratch that counts, and what all ranks do alike
// is to come out alike.
func scratch(u *unit) error {
	if u.manyWebs() {
		return nil
	}
	w := followValues(u)
	if w.work() > maxScratchWork {
		return nil
	}
	w.gather()
	w.index()
	if !w.place() {
		return nil
	}
	for i := range u.ops {
		o := &u.ops[i]
		if v := w.src[i]; v != none {
			o.srcOff += w.shift(v)
		}
		if v := w.withOf(i); v != none {
			o.withOff += w.shift(v)
		}
		if v := w.dst[i]; v != none {
			o.dstOff += w.shift(v)
		}
	}
	return chunkDAG(u)
}

// What looking for an order that is there anyway may cost: operations looked at
// for one web and another, others tried for one web, and operations in all.
const (
	maxAncestors   = 1 << 8
	maxTried       = 1 << 4
	maxScratchWork = 1 << 20
)

// manyWebs tells whether there are too many webs to look through, as far as that
// shows before they are made: a rank has a web for every chunk written anew, but
// one less for each that is touched together with another. It gives back the
// scratch of ranks that never use theirs.
func (u *unit) manyWebs() bool {
	used, least, apart := make([]bool, len(u.scratch)), make([]int, len(u.scratch)), make([]bool, len(u.scratch))
	touch := func(rank, count, stride int32, anew bool) {
		used[rank] = true
		apart[rank] = apart[rank] || stride > 1 // and what lies between, however much that is
		least[rank] -= int(count) - 1
		if anew {
			least[rank] += int(count)
		}
	}
	for i := range u.ops {
		o := &u.ops[i]
		if o.srcBuf == collective.Scratch {
			touch(o.src, o.count, o.srcStride, false)
		}
		if o.withScratch() {
			touch(o.dst, o.count, o.withStride, false)
		}
		if o.dstBuf == collective.Scratch {
			touch(o.dst, o.count, o.dstStride, o.anew())
		}
	}
	work := 0
	for r, n := range least {
		if !used[r] {
			u.scratch[r] = 0
		}
		if n > 0 && !apart[r] {
			work += n * n
		}
	}
	return work > maxScratchWork
}

// webs is scratch as values: each is what the chunks that one copy writes hold to the
// next.
type webs struct {
	u        *unit
	parent   []int32       // by value: towards its web
	unknown  []bool        // by value: it is read before it is written
	src, dst []int32       // by operation: the value of its first chunk, if in scratch
	with     map[int]int32 // by operation: the value that it adds to, if elsewhere in scratch
	webs     []web
	of       []int32 // by value that is a web's root: index into webs
	number   []int   // of webs, by rank
	spent    int     // operations looked at

	taken, free []run // room for lowest

	// Of the question that reached answers.
	asked   int32
	seen    []int32 // by node: the question that came by last
	missing []int32 // by node: the question that looks for it
	queue   []int32
}

// run is chunks side by side.
type run struct{ from, to int32 }

// web is values that keep their places beside one another.
type web struct {
	rank     int32
	from, to int32 // chunks
	delta    int32
	pinned   bool    // nobody knows what is read there: it stays
	begins   []int32 // operations, in order, that write a value of it first
	touches  []int32 // operations, in order, that touch any
	root     int32
}

// followValues follows the values of scratch through the program, and joins those
// that keep their places beside one another.
func followValues(u *unit) *webs {
	w := &webs{u: u, src: make([]int32, len(u.ops)), dst: make([]int32, len(u.ops)), with: map[int]int32{}, number: make([]int, len(u.scratch))}
	base := make([]int32, len(u.scratch)+1)
	for r, n := range u.scratch {
		base[r+1] = base[r] + n
	}
	value := make([]int32, base[len(u.scratch)]) // by chunk: 1 + what it holds
	create := func(rank int32, unknown bool) int32 {
		w.parent = append(w.parent, int32(len(w.parent)))
		w.unknown = append(w.unknown, unknown)
		w.number[rank]++
		return int32(len(w.parent))
	}
	touch := func(rank int32, c chunks, anew bool) int32 {
		first := base[rank] + c.off
		if anew { // chunks that are written together stay together: one value will do
			made := create(rank, false)
			for n := range c.count {
				value[first+n*c.stride] = made
			}
			return made - 1
		}
		last := int32(0)
		for n := range c.count {
			at := first + n*c.stride
			if value[at] == 0 {
				value[at] = create(rank, true)
			}
			if held := value[at]; held != last {
				w.join(rank, value[first]-1, held-1)
				last = held
			}
		}
		return value[first] - 1
	}
	for i := range u.ops {
		o := &u.ops[i]
		w.src[i], w.dst[i] = none, none
		src, dst := o.ends()
		if o.srcBuf == collective.Scratch {
			w.src[i] = touch(o.src, src, false)
		}
		if o.withScratch() {
			w.with[i] = touch(o.dst, o.with(), false)
		}
		if o.dstBuf == collective.Scratch {
			w.dst[i] = touch(o.dst, dst, o.anew())
		}
	}
	w.closeGaps(base)
	return w
}

// work is how often place is going to look at one web for another.
func (w *webs) work() (work int) {
	for _, n := range w.number {
		work += n * n
	}
	return work
}

// gather lists what there is to know of every web.
func (w *webs) gather() {
	w.of = make([]int32, len(w.parent))
	for v := range w.of {
		w.of[v] = none
	}
	for i := range w.u.ops {
		o := &w.u.ops[i]
		src, dst := o.ends()
		if v := w.src[i]; v != none {
			w.add(v, o.src, src, int32(i), false)
		}
		if v := w.withOf(i); v != none {
			w.add(v, o.dst, o.with(), int32(i), false)
		}
		if v := w.dst[i]; v != none {
			w.add(v, o.dst, dst, int32(i), o.anew())
		}
	}
	for v, unknown := range w.unknown {
		if unknown {
			w.webs[w.of[w.root(int32(v))]].pinned = true
		}
	}
}

// withOf is the value of the first chunk that operation i adds to, if that lies in
// scratch and elsewhere than where the sum goes; else none.
func (w *webs) withOf(i int) int32 {
	if w.u.ops[i].withScratch() {
		return w.with[i]
	}
	return none
}

func (w *webs) root(v int32) int32 {
	for w.parent[v] != v {
		w.parent[v] = w.parent[w.parent[v]]
		v = w.parent[v]
	}
	return v
}

// join makes one web of a rank's two; that of the earlier value stands for both.
func (w *webs) join(rank, a, b int32) {
	if a, b = w.root(a), w.root(b); a != b {
		w.parent[max(a, b)] = min(a, b)
		w.number[rank]--
	}
}

// add notes that operation i touches part of v's web.
func (w *webs) add(v, rank int32, c chunks, i int32, writes bool) {
	root := w.root(v)
	if w.of[root] == none {
		w.of[root] = int32(len(w.webs))
		w.webs = append(w.webs, web{rank: rank, from: c.off, to: c.end(), root: root})
	}
	x := &w.webs[w.of[root]]
	x.from, x.to = min(x.from, c.off), max(x.to, c.end())
	if n := len(x.touches); n == 0 || x.touches[n-1] != i {
		x.touches = append(x.touches, i)
	}
	if writes {
		x.begins = append(x.begins, i)
	}
}

// index sorts the webs by rank, then by the operation that touches them first.
func (w *webs) index() {
	next := make([]int, len(w.u.scratch)+1) // by rank: where its next web goes
	for n := range w.webs {
		next[w.webs[n].rank+1]++
	}
	for r := range w.u.scratch {
		next[r+1] += next[r]
	}
	byRank := make([]web, len(w.webs))
	for _, x := range w.webs { // which stand in the order of those operations
		byRank[next[x.rank]] = x
		next[x.rank]++
	}
	w.webs = byRank
	for n := range w.webs {
		w.of[w.webs[n].root] = int32(n)
	}
}

// shift is how far a value's web has moved.
func (w *webs) shift(v int32) int32 { return w.webs[w.of[w.root(v)]].delta }

// place finds every web the lowest place it can have, rank by rank, and says
// whether any moves. Once too much has been spent, ranks are left as they are.
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
				x.delta = w.lowest(own, n) - x.from
			}
			size = max(size, x.to+x.delta)
		}
		for n := range own {
			moved = moved || own[n].delta != 0
		}
		w.u.scratch[rank] = size
	}
	return moved
}

// lowest is the lowest place for the n-th of a rank's webs among those placed
// before it and those that stay where they are.
func (w *webs) lowest(all []web, n int) int32 {
	taken, free := w.taken[:0], w.free[:0]
	defer func() { w.taken, w.free = taken, free }()
	tried, x := 0, &all[n]
	if w.freshly(x) {
		tried = maxTried // nothing comes before it that could leave it a place
	}
	// The latest first: what an earlier one left to it is free when it is.
	for k := len(all) - 1; k >= 0; k-- {
		v := &all[k]
		if k == n || k > n && !v.pinned {
			continue
		}
		at := run{v.from + v.delta, v.to + v.delta}
		if k < n && slices.ContainsFunc(free, func(f run) bool { return f.from <= at.from && at.to <= f.to }) {
			continue
		}
		if tried < maxTried && v.touches[len(v.touches)-1] < x.touches[0] {
			tried++
			if w.before(v, x) {
				free = append(free, at)
				continue
			}
		}
		taken = append(taken, at)
	}
	slices.SortFunc(taken, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	at, width := int32(0), x.to-x.from
	for _, t := range taken {
		if t.from-at >= width {
			break
		}
		at = max(at, t.to)
	}
	return at
}

// freshly tells whether any value of x is written by an operation that comes after
// nothing at all.
func (w *webs) freshly(x *web) bool {
	return slices.ContainsFunc(x.begins, func(b int32) bool {
		return len(w.u.srcDeps.row(b)) == 0 && len(w.u.dstDeps.row(b)) == 0
	})
}

// before tells whether all that touches v is done whenever a value of x is first
// written.
func (w *webs) before(v, x *web) bool {
	for _, b := range x.begins {
		if !w.reached(v, b) {
			return false
		}
	}
	return true
}

// reached looks back from where operation b writes at v's rank for all that
// touches v, there.
func (w *webs) reached(v *web, b int32) bool {
	u := w.u
	// A node is 2·operation for its part at the rank it reads from, and one more
	// for its part at the rank it writes to; a local one has but the first.
	part := func(o, rank int32) int32 {
		if x := &u.ops[o]; !x.local() && x.dst == rank {
			return 2*o + 1
		}
		return 2 * o
	}
	if w.seen == nil {
		w.seen, w.missing = make([]int32, 2*len(u.ops)), make([]int32, 2*len(u.ops))
	}
	w.asked++
	left := len(v.touches)
	for _, t := range v.touches {
		w.missing[part(t, v.rank)] = w.asked
	}
	queue := w.queue[:0]
	defer func() { w.queue = queue }()
	push := func(n int32) {
		if n/2 >= v.touches[0] && w.seen[n] != w.asked {
			w.seen[n] = w.asked
			queue = append(queue, n)
			if w.missing[n] == w.asked {
				left--
			}
		}
	}
	after := func(n int32) {
		o, x := n/2, &u.ops[n/2]
		if n%2 == 1 {
			push(2 * o) // the message it receives
		}
		if n%2 == 1 || x.local() {
			for _, d := range u.dstDeps.row(o) {
				push(part(d, x.dst))
			}
		}
		if n%2 == 0 {
			for _, d := range u.srcDeps.row(o) {
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
