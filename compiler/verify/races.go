package verify

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// races looks, GPU by GPU and in the order found, at every access of every
// chunk: it must come after the last write, and a write after every read since.
// Orders carry over, so these pairs stand for all. Most are settled by program
// order and the GPU's own dependencies; the rest is asked of paths.
func (c *checker) races() {
	byGPU := c.orderByGPU()
	paths := newPaths(c)
	w := &watch{c: c, paths: paths}
	for g := range c.p.GPUs {
		w.begin(int32(g))
		for _, s := range byGPU[g] {
			w.step(s)
			if c.r.full() && !c.r.OK() {
				return
			}
		}
	}
	paths.settle()
}

// orderByGPU returns order, split by GPU.
func (c *checker) orderByGPU() [][]int32 {
	of := make([][]int32, len(c.p.GPUs))
	all := make([]int32, len(c.order))
	for g := range of {
		lo, hi := c.first[c.firstTB[g]], c.first[c.firstTB[g+1]]
		of[g] = all[lo:lo:hi]
	}
	for _, s := range c.order {
		g := c.tbGPU[c.stepTB[s]]
		of[g] = append(of[g], s)
	}
	return of
}

// watch follows the accesses of one GPU.
type watch struct {
	c     *checker
	paths *paths
	gpu   int32
	base  [3]int64 // of a buffer in cells
	cells []access
	reads []read // pool of all readers, linked

	// after[t][u] is the last step of threadblock u known to come before what
	// threadblock t does next: all of it from program order and dependencies of
	// this GPU, and what paths found. Steps by number, -1 none.
	after [][]int32
	// kept is, by step of this GPU, a copy of after[t] as the step left it: nil
	// where no step waits for it, and of no use where all would be too much.
	kept    [][]int32
	keeps   bool
	keptFor int32 // the step that kept begins with
	// latest is, by threadblock, the last copy of after, nil where that has
	// changed since.
	latest [][]int32
}

// access is who last wrote a chunk (-1: nobody), and who read it since.
type access struct{ write, reads int32 }

type read struct{ step, next int32 }

// mostKept bounds what the copies of one GPU take; beyond it, an order that
// goes through two waits is left to paths.
const mostKept = 1 << 25

// begin turns to another GPU, in the room of the one before.
func (w *watch) begin(g int32) {
	c := w.c
	w.gpu, w.keptFor = g, c.first[c.firstTB[g]]
	w.kept = cleared(w.kept, int(c.first[c.firstTB[g+1]]-w.keptFor))
	n := int64(0)
	for _, b := range [...]collective.Buffer{collective.In, collective.Out, collective.Scratch} {
		w.base[b] = n
		if b == collective.Scratch {
			n += int64(c.p.GPUs[g].Scratch)
		} else {
			n += int64(c.col.BufferChunks(int(g), b))
		}
	}
	w.cells, w.reads = cleared(w.cells, int(n)), w.reads[:0]
	for i := range w.cells {
		w.cells[i] = access{-1, -1}
	}
	tbs := int(c.firstTB[g+1] - c.firstTB[g])
	w.after, w.latest = cleared(w.after, tbs), cleared(w.latest, tbs)
	awaited := 0
	for _, tb := range c.p.GPUs[g].Threadblocks {
		for i := range tb.Steps {
			for _, d := range tb.Steps[i].Deps {
				if s := c.met(g, d) - w.keptFor; w.kept[s] == nil {
					w.kept[s] = []int32{}
					awaited++
				}
			}
		}
	}
	w.keeps = awaited*tbs <= mostKept
}

// cleared returns n zero values, in the room of a slice where that is enough.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// known returns after[t], to be changed; it is made when first asked for.
func (w *watch) known(t int32) []int32 {
	if w.after[t] == nil {
		w.after[t] = fill(len(w.after), -1)
	}
	w.latest[t] = nil
	return w.after[t]
}

// keep returns a copy of after[t], never to be changed; empty where nothing is
// known.
func (w *watch) keep(t int32) []int32 {
	if w.latest[t] == nil {
		w.latest[t] = append([]int32{}, w.after[t]...)
	}
	return w.latest[t]
}

// step takes in what step s waits for, and checks what it reads and writes.
func (w *watch) step(s int32) {
	step := w.c.step(s)
	first := w.c.firstTB[w.gpu]
	t := w.c.stepTB[s] - first
	for _, d := range step.Deps {
		met := w.c.met(w.gpu, d)
		known := w.known(t)
		known[d.TB] = max(known[d.TB], met)
		if w.keeps {
			for u, s := range w.kept[met-w.keptFor] {
				known[u] = max(known[u], s)
			}
		}
	}
	if step.Op.ReadsSrc() {
		w.reading(s, t, step.Src, step.Count)
	}
	if step.Op == ir.Reduce {
		w.reading(s, t, step.Dst, step.Count)
	}
	if step.Op.WritesDst() {
		w.writing(s, t, step.Dst, step.Count)
	}
	if w.keeps && w.kept[s-w.keptFor] != nil {
		w.kept[s-w.keptFor] = w.keep(t)
	}
}

// run returns the cells from the first of a place to its last, and how far apart
// those are that belong to it.
func (w *watch) run(l ir.Loc, count int32) (cells []access, stride int) {
	from := w.base[l.Buf]
	return w.cells[from+int64(l.Off) : from+l.End(count)], int(max(l.Stride, 1))
}

func (w *watch) reading(s, t int32, l ir.Loc, count int32) {
	cells, stride := w.run(l, count)
	for i, at := int32(0), 0; i < count; i, at = i+1, at+stride {
		cell := &cells[at]
		w.ordered(cell.write, s, t, l, i)
		// Of a threadblock's reads only the last matters: the others come before.
		if cell.reads >= 0 {
			if last := &w.reads[cell.reads]; w.c.stepTB[last.step] == w.c.stepTB[s] {
				last.step = s
				continue
			}
		}
		w.reads = append(w.reads, read{s, cell.reads})
		cell.reads = int32(len(w.reads) - 1)
	}
}

func (w *watch) writing(s, t int32, l ir.Loc, count int32) {
	cells, stride := w.run(l, count)
	for i, at := int32(0), 0; i < count; i, at = i+1, at+stride {
		cell := &cells[at]
		w.ordered(cell.write, s, t, l, i)
		for r := cell.reads; r >= 0; r = w.reads[r].next {
			w.ordered(w.reads[r].step, s, t, l, i)
		}
		*cell = access{s, -1}
	}
}

// ordered makes sure that step a (-1: none) comes before step b of threadblock
// t; both touch chunk i of b's place l.
func (w *watch) ordered(a, b, t int32, l ir.Loc, i int32) {
	if a < 0 {
		return
	}
	u := w.c.stepTB[a] - w.c.firstTB[w.gpu]
	if u == t {
		return
	}
	if known := w.after[t]; known != nil && known[u] >= a {
		return
	}
	// Ordered or not, a is taken as settled from here on: paths.settle reports it
	// where it is not, and what follows from it needs no report of its own.
	w.known(t)[u] = max(a, w.paths.order(a, b, ir.Loc{Buf: l.Buf, Off: l.At(i)}))
}
