package compiler

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// scratch lets values share scratch chunks one after another, and gives up chunks
// that no operation touches.
//
//	0 copy rank 0 in[0] → rank 1 sc[0]       the same
//	1 copy rank 1 sc[0] → rank 0 sc[0]       the same
//	2 copy rank 0 sc[0] → rank 1 sc[1]       copy rank 0 sc[0] → rank 1 sc[0]
//
// Values that one operation touches keep their positions relative to each other:
// they move together as a web, and with them whatever lies between the chunks of a
// strided reference. A web may take the place of another only if everything that
// touches the other is ordered before it anyway, so that no wait is added. Every
// tile has its own part of scratch, so what holds within one tile holds for all.
//
// If any rank has more webs than can be searched, nothing is moved anywhere: the
// rank with the most scratch determines the cost, and ranks that do the same
// should come out the same.
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

// Limits on the search for orders that hold anyway: operations examined for one
// pair of webs, webs tried for one web, and operations in total.
const (
	maxAncestors   = 1 << 8
	maxTried       = 1 << 4
	maxScratchWork = 1 << 20
)

// manyWebs tells whether there are too many webs to search, by an estimate made
// before building them: a rank has a web for every chunk written anew, less one
// for every chunk that is written together with another. It also gives up the
// scratch of ranks that never use theirs.
func (u *unit) manyWebs() bool {
	used, least, apart := make([]bool, len(u.scratch)), make([]int, len(u.scratch)), make([]bool, len(u.scratch))
	touch := func(rank, count, stride int32, anew bool) {
		used[rank] = true
		apart[rank] = apart[rank] || stride > 1 // the web then includes all chunks in between
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

// webs divides the contents of scratch into values: a value is what one operation
// writes, until it is overwritten.
type webs struct {
	u        *unit
	parent   []int32       // by value: union-find towards the web's root
	unknown  []bool        // by value: it is read without having been written
	src, dst []int32       // by operation: the value of its first chunk, if that is in scratch
	with     map[int]int32 // by operation: the value it adds to, if that is elsewhere in scratch
	webs     []web
	of       []int32 // by value that is a web's root: index into webs
	number   []int   // of webs on each rank
	spent    int     // operations examined so far

	taken, free []run // buffers for lowest

	// State of reached; each call has a number, so that nothing needs clearing.
	asked   int32
	seen    []int32 // by node: the last call that visited it
	missing []int32 // by node: the last call that looks for it
	queue   []int32
}

// run is a range of chunks.
type run struct{ from, to int32 }

// web is a set of values that keep their positions relative to each other.
type web struct {
	rank     int32
	from, to int32 // chunks
	delta    int32
	pinned   bool    // it holds a value of unknown origin, so it stays where it is
	begins   []int32 // operations that write one of its values first, in order
	touches  []int32 // operations that touch any of its values, in order
	root     int32
}

// followValues tracks the values in scratch through the program, and joins those
// that must keep their relative positions.
func followValues(u *unit) *webs {
	w := &webs{u: u, src: make([]int32, len(u.ops)), dst: make([]int32, len(u.ops)), with: map[int]int32{}, number: make([]int, len(u.scratch))}
	base := make([]int32, len(u.scratch)+1)
	for r, n := range u.scratch {
		base[r+1] = base[r] + n
	}
	value := make([]int32, base[len(u.scratch)]) // by chunk: 1 + the value in it
	create := func(rank int32, unknown bool) int32 {
		w.parent = append(w.parent, int32(len(w.parent)))
		w.unknown = append(w.unknown, unknown)
		w.number[rank]++
		return int32(len(w.parent))
	}
	touch := func(rank int32, c chunks, anew bool) int32 {
		first := base[rank] + c.off
		if anew { // chunks written together stay together, so they share one value
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

// work is how many pairs of webs place will look at.
func (w *webs) work() (work int) {
	for _, n := range w.number {
		work += n * n
	}
	return work
}

// gather collects the range and the operations of every web.
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

// withOf is the value of the first chunk that operation i adds to, if that is in
// scratch and elsewhere than its destination; otherwise none.
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

// join merges two webs of a rank. The earlier value becomes the root.
func (w *webs) join(rank, a, b int32) {
	if a, b = w.root(a), w.root(b); a != b {
		w.parent[max(a, b)] = min(a, b)
		w.number[rank]--
	}
}

// add records that operation i touches chunks of v's web.
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

// index sorts the webs by rank, then by the first operation that touches them.
func (w *webs) index() {
	next := make([]int, len(w.u.scratch)+1) // by rank: where its next web goes
	for n := range w.webs {
		next[w.webs[n].rank+1]++
	}
	for r := range w.u.scratch {
		next[r+1] += next[r]
	}
	byRank := make([]web, len(w.webs))
	for _, x := range w.webs { // in the order of the first operations that touch them
		byRank[next[x.rank]] = x
		next[x.rank]++
	}
	w.webs = byRank
	for n := range w.webs {
		w.of[w.webs[n].root] = int32(n)
	}
}

// shift is how far the web of a value has moved.
func (w *webs) shift(v int32) int32 { return w.webs[w.of[w.root(v)]].delta }

// place moves every web to the lowest place available to it, rank by rank, and
// tells whether any moved. Once the work exceeds its limit, the remaining ranks
// are left as they are.
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

// lowest is the lowest place for the n-th web of a rank, given the webs placed
// before it and those that must stay.
func (w *webs) lowest(all []web, n int) int32 {
	taken, free := w.taken[:0], w.free[:0]
	defer func() { w.taken, w.free = taken, free }()
	tried, x := 0, &all[n]
	if w.freshly(x) {
		tried = maxTried // no operation precedes it, so none can have freed a place for it
	}
	// The latest web first: places that it inherited from earlier webs are then
	// free as well.
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

// freshly tells whether an operation that waits for nothing writes a value of x.
func (w *webs) freshly(x *web) bool {
	return slices.ContainsFunc(x.begins, func(b int32) bool {
		return len(w.u.srcDeps.row(b)) == 0 && len(w.u.dstDeps.row(b)) == 0
	})
}

// before tells whether everything that touches v is done whenever x is first
// written.
func (w *webs) before(v, x *web) bool {
	for _, b := range x.begins {
		if !w.reached(v, b) {
			return false
		}
	}
	return true
}

// reached searches backwards from operation b, where it writes at v's rank, for
// all operations that touch v.
func (w *webs) reached(v *web, b int32) bool {
	u := w.u
	// A node is 2·operation for the end at which it reads, and one more for the
	// end at which it writes, if that is another rank.
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
			push(2 * o) // it also waits for the message's sender
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
