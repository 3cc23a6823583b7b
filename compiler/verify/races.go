package verify

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// races visits every access of every chunk, GPU by GPU in the order found by
// completes. An access must happen after the last write, and a write also after
// every read since. Happens-before is transitive, so these pairs suffice. Most
// are ordered by program order and the GPU's own dependencies; paths decides
// the rest.
func (c *checker) races() {
	byGPU := c.orderByGPU()
	w := &raceTracker{c: c, paths: &paths{c: c}}
	for g := range c.p.GPUs {
		w.begin(int32(g))
		for _, s := range byGPU[g] {
			w.step(s)
			if c.r.full() && !c.r.OK() {
				return
			}
		}
	}
	w.paths.resolve()
}

// orderByGPU splits order by GPU.
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

// raceTracker follows the accesses of one GPU.
type raceTracker struct {
	c     *checker
	paths *paths
	gpu   int32
	base  [3]int64 // by buffer: index of its first cell
	cells []access
	reads []read // pool of all readers, linked

	// clocks[t][u] is the last step of threadblock u known to happen before the
	// next step of threadblock t, or -1: complete for program order and
	// dependencies of this GPU, plus the answers of paths.
	clocks [][]int32
	// stored is, by step of this GPU, a copy of clocks[t] after the step: nil if
	// no step waits for it. It is unused if all copies would exceed maxStored.
	stored     [][]int32
	keeps      bool
	storedFrom int32 // the step that stored begins with
	// latest is, by threadblock, the last stored copy of its clock, or nil if the
	// clock has changed since.
	latest [][]int32
}

// access is the last writer of a chunk, or -1, and the readers since.
type access struct{ writer, readers int32 }

type read struct{ step, next int32 }

// maxStored bounds the size of the copies of one GPU. Beyond it, paths decides
// orders that go through two waits.
const maxStored = 1 << 25

// begin starts with another GPU, reusing memory.
func (w *raceTracker) begin(g int32) {
	c := w.c
	w.gpu, w.storedFrom = g, c.first[c.firstTB[g]]
	w.stored = cleared(w.stored, int(c.first[c.firstTB[g+1]]-w.storedFrom))
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
	w.clocks, w.latest = cleared(w.clocks, tbs), cleared(w.latest, tbs)
	awaited := 0
	for _, tb := range c.p.GPUs[g].Threadblocks {
		for i := range tb.Steps {
			for _, d := range tb.Steps[i].Deps {
				if s := c.met(g, d) - w.storedFrom; w.stored[s] == nil {
					w.stored[s] = []int32{}
					awaited++
				}
			}
		}
	}
	w.keeps = awaited*tbs <= maxStored
}

// cleared returns n zero values, in s if its capacity suffices.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// clock returns clocks[t], allocating it on first use. The caller may change
// it.
func (w *raceTracker) clock(t int32) []int32 {
	if w.clocks[t] == nil {
		w.clocks[t] = fill(len(w.clocks), -1)
	}
	w.latest[t] = nil
	return w.clocks[t]
}

// store returns a copy of clocks[t], which must not be changed; it is empty if
// the clock is.
func (w *raceTracker) store(t int32) []int32 {
	if w.latest[t] == nil {
		w.latest[t] = append([]int32{}, w.clocks[t]...)
	}
	return w.latest[t]
}

// step merges the clocks that step s waits for, and checks its accesses.
func (w *raceTracker) step(s int32) {
	step := w.c.step(s)
	first := w.c.firstTB[w.gpu]
	t := w.c.stepTB[s] - first
	for _, d := range step.Deps {
		met := w.c.met(w.gpu, d)
		known := w.clock(t)
		known[d.TB] = max(known[d.TB], met)
		if w.keeps {
			for u, s := range w.stored[met-w.storedFrom] {
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
	if w.keeps && w.stored[s-w.storedFrom] != nil {
		w.stored[s-w.storedFrom] = w.store(t)
	}
}

// cellsOf returns the cells from the first of a place to its last, and the
// stride of those that belong to it.
func (w *raceTracker) cellsOf(l ir.Loc, count int32) (cells []access, stride int) {
	from := w.base[l.Buf]
	return w.cells[from+int64(l.Off) : from+l.End(count)], int(max(l.Stride, 1))
}

func (w *raceTracker) reading(s, t int32, l ir.Loc, count int32) {
	cells, stride := w.cellsOf(l, count)
	for i, at := int32(0), 0; i < count; i, at = i+1, at+stride {
		cell := &cells[at]
		w.ordered(cell.writer, s, t, l, i)
		// Of a threadblock's reads only the last matters: the others come before.
		if cell.readers >= 0 {
			if last := &w.reads[cell.readers]; w.c.stepTB[last.step] == w.c.stepTB[s] {
				last.step = s
				continue
			}
		}
		w.reads = append(w.reads, read{s, cell.readers})
		cell.readers = int32(len(w.reads) - 1)
	}
}

func (w *raceTracker) writing(s, t int32, l ir.Loc, count int32) {
	cells, stride := w.cellsOf(l, count)
	for i, at := int32(0), 0; i < count; i, at = i+1, at+stride {
		cell := &cells[at]
		w.ordered(cell.writer, s, t, l, i)
		for r := cell.readers; r >= 0; r = w.reads[r].next {
			w.ordered(w.reads[r].step, s, t, l, i)
		}
		*cell = access{s, -1}
	}
}

// ordered checks that step a (-1: none) happens before step b of threadblock t.
// Both access chunk i of b's place l.
func (w *raceTracker) ordered(a, b, t int32, l ir.Loc, i int32) {
	if a < 0 {
		return
	}
	u := w.c.stepTB[a] - w.c.firstTB[w.gpu]
	if u == t {
		return
	}
	if known := w.clocks[t]; known != nil && known[u] >= a {
		return
	}
	// From here on a is assumed to be ordered: if it is not, paths.resolve reports
	// it, and no consequence needs its own report.
	w.clock(t)[u] = max(a, w.paths.order(a, b, ir.Loc{Buf: l.Buf, Off: l.At(i)}))
}
