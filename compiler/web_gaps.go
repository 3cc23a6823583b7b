package compiler

import (
	"cmp"
	"slices"
)

// extent is the range of chunks from the first to the last of a web with a
// strided reference.
type extent struct {
	rank, from, to int32
	root           int32
}

// closeGaps merges a web that has a strided reference with every web that touches
// its range, between the reference's chunks or across its ends. Later steps can
// then treat a web as everything within its range.
//
//	sc[0:5:2]  # . # . #        one web
//	sc[1]      . # . . .
//	sc[3:5]    . . . # #
func (w *webs) closeGaps(base []int32) {
	for {
		open := w.stridedExtents()
		if len(open) == 0 {
			return
		}
		apart := open[:1]
		for _, x := range open[1:] {
			last := &apart[len(apart)-1]
			if last.rank != x.rank || x.from >= last.to {
				apart = append(apart, x)
				continue
			}
			w.join(x.rank, x.root, last.root)
			last.to = max(last.to, x.to)
		}
		painted := make([]int32, base[len(base)-1]) // by chunk: 1 + the index in apart that covers it
		for n := range apart {
			x := &apart[n]
			for at := base[x.rank] + x.from; at < base[x.rank]+x.to; at++ {
				painted[at] = int32(n) + 1
			}
		}
		grown := false
		w.eachTouch(func(_, v, rank int32, c chunks, _ bool) {
			last := int32(0)
			for n := range c.count {
				p := painted[base[rank]+c.nth(n).off]
				if p == last || p == 0 {
					continue
				}
				last = p
				x := &apart[p-1]
				w.join(rank, v, x.root)
				grown = grown || c.off < x.from || c.end() > x.to
			}
		})
		if !grown {
			return
		}
	}
}

// stridedExtents lists the extents of webs with strided references, by rank and
// first chunk.
func (w *webs) stridedExtents() (open []extent) {
	at := map[int32]int{} // by root: 1 + index into open
	for _, strided := range [2]bool{true, false} {
		w.eachTouch(func(_, v, rank int32, c chunks, _ bool) {
			if strided && c.stride == 1 {
				return
			}
			root := w.root(v)
			if at[root] == 0 {
				if !strided {
					return
				}
				open = append(open, extent{rank, c.off, c.end(), root})
				at[root] = len(open)
			}
			x := &open[at[root]-1]
			x.from, x.to = min(x.from, c.off), max(x.to, c.end())
		})
		if len(open) == 0 {
			return nil
		}
	}
	slices.SortFunc(open, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.from, b.from), cmp.Compare(a.root, b.root))
	})
	return open
}

// eachTouch calls do for every place in scratch that operation i accesses, with the value
// of the place's first chunk, and whether the place is written without being read.
func (w *webs) eachTouch(do func(i, v, rank int32, c chunks, anew bool)) {
	for i := range w.prog.ops {
		o, id := &w.prog.ops[i], int32(i)
		src, dst := o.ends()
		if v := w.src[i]; v != none {
			do(id, v, o.src, src, false)
		}
		if v := w.withOf(i); v != none {
			do(id, v, o.dst, o.with(), false)
		}
		if v := w.dst[i]; v != none {
			do(id, v, o.dst, dst, o.overwrites())
		}
	}
}
