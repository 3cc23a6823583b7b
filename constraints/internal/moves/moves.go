package moves

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// Move sends chunks First to First+Count of those that start or end at Root.
type Move struct {
	From, To     int
	Root         int
	First, Count int
	Reduce       bool
}

// Program traces moves in their order. The collective is allgather, broadcast,
// reducescatter, reduce or allreduce, whose chunks are divided evenly among the
// ranks; its Chunks are as many as moves count on, times the ranks for
// allreduce.
func Program(name string, spec collective.Spec, list []Move) (*lang.Program, error) {
	c, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	w := &writer{t: lang.NewTrace(name, c), c: c, n: c.Chunks}
	switch c.Name {
	case "allreduce":
		if c.Chunks%c.Ranks != 0 {
			return nil, fmt.Errorf("%d chunks of allreduce: want a multiple of %d ranks", c.Chunks, c.Ranks)
		}
		w.n /= c.Ranks
	case "allgather", "broadcast", "reducescatter", "reduce":
	default:
		return nil, fmt.Errorf("moves of %s: want allgather, broadcast, reducescatter, reduce or allreduce", c.Name)
	}
	w.sums = make([]map[int]int, c.Ranks)
	for r := range w.sums {
		w.sums[r] = map[int]int{}
	}
	w.scratch = make([]int, c.Ranks)
	if !c.Reduces() {
		for r := range c.Ranks {
			if c.InChunks(r) > 0 {
				w.copy(r, place{collective.In, 0}, r, place{collective.Out, w.out(r, 0)}, w.n)
			}
		}
	}
	for _, m := range list {
		if m.Reduce {
			w.reduce(m)
		} else {
			w.spread(m)
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.t.Finish()
}

// writer traces a program and keeps its first error.
type writer struct {
	t *lang.Trace
	c collective.Collective
	n int // chunks of a root
	// sums[r] is where rank r combines a chunk: its place in scratch, or own
	// where that is the output.
	sums    []map[int]int
	scratch []int // used so far
	err     error
}

const own = -1

// place is the first of some chunks in a buffer.
type place struct {
	buf   collective.Buffer
	index int
}

// whole tells whether the output has a place for every root's chunks.
func (w *writer) whole() bool { return w.c.Name == "allgather" || w.c.Name == "allreduce" }

// out is where chunk i of a root lies in the output of those who have it there.
func (w *writer) out(root, i int) int {
	if w.whole() {
		return root*w.n + i
	}
	return i
}

// in is where a rank's own chunk i for a root lies in its input.
func (w *writer) in(root, i int) int {
	if w.c.Name == "reducescatter" || w.c.Name == "allreduce" {
		return root*w.n + i
	}
	return i
}

func (w *writer) spread(m Move) {
	from := place{collective.Out, w.out(m.Root, m.First)}
	if m.From == m.Root && !w.c.Reduces() {
		from = place{collective.In, m.First}
	}
	w.copy(m.From, from, m.To, place{collective.Out, w.out(m.Root, m.First)}, m.Count)
}

// reduce combines runs of chunks that lie in a row at both ends.
func (w *writer) reduce(m Move) {
	for i := m.First; i < m.First+m.Count; {
		at := w.begin(m.To, m.Root, i, m.First+m.Count)
		to := w.sum(m.To, m.Root, i)
		from := w.sum(m.From, m.Root, i)
		run := 1
		for i+run < at && w.next(m.From, m.Root, i, run, from) && w.next(m.To, m.Root, i, run, to) {
			run++
		}
		w.combine(m.From, from, m.To, to, run)
		i += run
	}
}

// next tells whether a rank's chunk i+run lies run places after chunk i.
func (w *writer) next(rank, root, i, run int, first place) bool {
	p := w.sum(rank, root, i+run)
	return p.buf == first.buf && p.index == first.index+run
}

// sum is where a rank's chunk for a root lies: its own input, or what it has
// combined with it.
func (w *writer) sum(rank, root, i int) place {
	at, begun := w.sums[rank][root*w.n+i]
	switch {
	case !begun:
		return place{collective.In, w.in(root, i)}
	case at == own:
		return place{collective.Out, w.out(root, i)}
	}
	return place{collective.Scratch, at}
}

// begin copies a rank's own chunks from i on, as far as none has been combined,
// to where they will be, and returns where it stopped; where chunk i has been,
// it does nothing and returns end.
func (w *writer) begin(rank, root, i, end int) int {
	key := root*w.n + i
	if _, begun := w.sums[rank][key]; begun {
		return end
	}
	run := 1
	for ; i+run < end; run++ {
		if _, begun := w.sums[rank][key+run]; begun {
			break
		}
	}
	to := place{collective.Out, w.out(root, i)}
	here := own
	if !w.whole() && rank != root {
		here = w.scratch[rank]
		to = place{collective.Scratch, here}
		w.scratch[rank] += run
	}
	w.copy(rank, place{collective.In, w.in(root, i)}, rank, to, run)
	for k := range run {
		w.sums[rank][key+k] = here
		if here != own {
			here++
		}
	}
	return i + run
}

func (w *writer) copy(a int, from place, b int, to place, n int) {
	if w.err != nil {
		return
	}
	c, err := w.t.Chunk(a, from.buf, from.index, n, 1)
	if err == nil {
		_, err = c.Copy(b, to.buf, to.index, -1)
	}
	w.err = err
}

func (w *writer) combine(a int, from place, b int, to place, n int) {
	if w.err != nil {
		return
	}
	c, err := w.t.Chunk(a, from.buf, from.index, n, 1)
	if err == nil {
		var own *lang.Ref
		if own, err = w.t.Chunk(b, to.buf, to.index, n, 1); err == nil {
			_, err = own.Reduce(c, -1)
		}
	}
	w.err = err
}
