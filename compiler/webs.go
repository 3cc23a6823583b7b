package compiler

import "github.com/colltune/colltune/compiler/collective"

// webs divides the contents of scratch into values: a value is the content that
// one operation writes, until it is overwritten.
type webs struct {
	prog     *program
	parent   []int32       // by value: union-find towards the web's root
	unknown  []bool        // by value: it is read without having been written
	src, dst []int32       // by operation: the value of its first chunk, if that is in scratch
	with     map[int]int32 // by operation: the value of its operand, if that is elsewhere in scratch
	webs     []web
	of       []int32 // by value that is a web's root: index into webs
	counts   []int   // webs on each rank
	spent    int     // operations examined so far

	taken, free []reach // buffers of lowestPlace

	// State of reachesAll. Each call has a number, so that nothing needs clearing.
	query  int32
	seen   []int32 // by node: the last call that visited it
	sought []int32 // by node: the last call that searched for it
	queue  []int32
}

// web is a set of values that keep their positions relative to each other.
type web struct {
	rank     int32
	from, to int32 // chunks
	delta    int32
	pinned   bool    // it holds a value of unknown origin, so it stays where it is
	begins   []int32 // operations that first write one of its values, in order
	touches  []int32 // operations that access any of its values, in order
	root     int32
}

// buildWebs tracks the values in scratch through the program, and joins those
// that must keep their relative positions.
func buildWebs(prog *program) *webs {
	w := &webs{prog: prog, src: make([]int32, len(prog.ops)), dst: make([]int32, len(prog.ops)), with: map[int]int32{}, counts: make([]int, len(prog.scratch))}
	base := make([]int32, len(prog.scratch)+1)
	for r, n := range prog.scratch {
		base[r+1] = base[r] + n
	}
	value := make([]int32, base[len(prog.scratch)]) // by chunk: 1 + the value in it
	create := func(rank int32, unknown bool) int32 {
		w.parent = append(w.parent, int32(len(w.parent)))
		w.unknown = append(w.unknown, unknown)
		w.counts[rank]++
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
	for i := range prog.ops {
		o := &prog.ops[i]
		w.src[i], w.dst[i] = none, none
		src, dst := o.ends()
		if o.srcBuf == collective.Scratch {
			w.src[i] = touch(o.src, src, false)
		}
		if o.withScratch() {
			w.with[i] = touch(o.dst, o.with(), false)
		}
		if o.dstBuf == collective.Scratch {
			w.dst[i] = touch(o.dst, dst, o.overwrites())
		}
	}
	w.closeGaps(base)
	return w
}

// withOf returns the value of the first chunk of operation i's operand, if that
// is in scratch and not at its destination; otherwise none.
func (w *webs) withOf(i int) int32 {
	if w.prog.ops[i].withScratch() {
		return w.with[i]
	}
	return none
}

func (w *webs) root(v int32) int32 { return rootOf(w.parent, v) }

// join merges two webs of a rank. The earlier value becomes the root.
func (w *webs) join(rank, a, b int32) {
	if a, b = w.root(a), w.root(b); a != b {
		w.parent[max(a, b)] = min(a, b)
		w.counts[rank]--
	}
}

// add records that operation i accesses chunks of v's web, and whether it writes them anew.
func (w *webs) add(i, v, rank int32, c chunks, anew bool) {
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
	if anew {
		x.begins = append(x.begins, i)
	}
}

func (w *webs) collectRanges() {
	w.of = fill(make([]int32, len(w.parent)), none)
	w.eachTouch(w.add)
	for v, unknown := range w.unknown {
		if unknown {
			w.webs[w.of[w.root(int32(v))]].pinned = true
		}
	}
}

// sortByRank sorts the webs by rank, then by the first operation that accesses
// them.
func (w *webs) sortByRank() {
	next := make([]int, len(w.prog.scratch)+1) // by rank: where its next web goes
	for n := range w.webs {
		next[w.webs[n].rank+1]++
	}
	for r := range w.prog.scratch {
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
