package compiler

import (
	"github.com/colltune/colltune/compiler/collective"
)

// scratch lets values share scratch chunks one after another, and removes
// chunks that no operation accesses.
//
//	0 copy rank 0 in[0] → rank 1 sc[0]       the same
//	1 copy rank 1 sc[0] → rank 0 sc[0]       the same
//	2 copy rank 0 sc[0] → rank 1 sc[1]       copy rank 0 sc[0] → rank 1 sc[0]
//
// Values that one operation accesses keep their positions relative to each
// other: they move together as a web, and with them all chunks between those of
// a strided reference. A web may take the place of another only if every access
// to the other is ordered before it anyway, so that no wait is added. Every
// tile has its own part of scratch, so the analysis of one tile holds for all.
//
// If any rank has more webs than can be searched, no rank's are moved: the rank
// with the most scratch determines the cost, and ranks with equal operations
// should keep equal layouts.
func scratch(prog *program) error {
	if prog.manyWebs() {
		return nil
	}
	w := buildWebs(prog)
	if w.work() > maxScratchWork {
		return nil
	}
	w.collectRanges()
	w.sortByRank()
	if !w.place() {
		return nil
	}
	for i := range prog.ops {
		o := &prog.ops[i]
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
	return chunkDAG(prog)
}

// Limits on the search for webs that are ordered anyway: operations examined
// for one pair of webs, webs tried for one web, and operations in total.
const (
	maxAncestors   = 1 << 8
	maxTried       = 1 << 4
	maxScratchWork = 1 << 20
)

// manyWebs reports whether there are too many webs to search, by an estimate
// made before building them: a rank has a web for every chunk that is
// overwritten, less one for every chunk that is written together with another.
// It also removes the scratch of ranks that never use theirs.
func (prog *program) manyWebs() bool {
	used, least, apart := make([]bool, len(prog.scratch)), make([]int, len(prog.scratch)), make([]bool, len(prog.scratch))
	touch := func(rank, count, stride int32, anew bool) {
		used[rank] = true
		apart[rank] = apart[rank] || stride > 1 // the web then includes all chunks in between
		least[rank] -= int(count) - 1
		if anew {
			least[rank] += int(count)
		}
	}
	for i := range prog.ops {
		o := &prog.ops[i]
		if o.srcBuf == collective.Scratch {
			touch(o.src, o.count, o.srcStride, false)
		}
		if o.withScratch() {
			touch(o.dst, o.count, o.withStride, false)
		}
		if o.dstBuf == collective.Scratch {
			touch(o.dst, o.count, o.dstStride, o.overwrites())
		}
	}
	work := 0
	for r, n := range least {
		if !used[r] {
			prog.scratch[r] = 0
		}
		if n > 0 && !apart[r] {
			work += n * n
		}
	}
	return work > maxScratchWork
}

// work returns the number of pairs of webs that place compares.
func (w *webs) work() (work int) {
	for _, n := range w.counts {
		work += n * n
	}
	return work
}

// shift returns the distance by which the web of a value has moved, in chunks.
func (w *webs) shift(v int32) int32 { return w.webs[w.of[w.root(v)]].delta }
