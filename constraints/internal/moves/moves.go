package moves

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// Move sends Count chunks, from First on, of those that start at Root or, if Reduce,
// end there.
type Move struct {
	From, To     int // ranks
	Root         int // rank
	First, Count int
	Reduce       bool // combine with what To has, instead of copying
}

// Program traces moves in their order. The collective is allgather, broadcast,
// reducescatter, reduce or allreduce. Moves number the chunks of a root from 0 to
// spec.Chunks-1, of an allreduce to spec.Chunks/ranks-1. The error says that the
// collective is another one, or is lang's.
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
	w.accumulators = make([]map[int]int, c.Ranks)
	for r := range w.accumulators {
		w.accumulators[r] = map[int]int{}
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
			w.copyMove(m)
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
	// accumulators[r] is where rank r combines a chunk: its index in scratch, or
	// inOutput.
	accumulators []map[int]int
	scratch      []int // by rank: chunks used so far
	err          error
}

const inOutput = -1

// place is a position in a buffer, or the first of several.
type place struct {
	buf   collective.Buffer
	index int
}

// outputHoldsAll reports whether the output has a place for every root's chunks.
func (w *writer) outputHoldsAll() bool { return w.c.Name == "allgather" || w.c.Name == "allreduce" }

// out returns the position of chunk i of a root in a rank's output.
func (w *writer) out(root, i int) int {
	if w.outputHoldsAll() {
		return root*w.n + i
	}
	return i
}

// in returns the position of a rank's own chunk i for a root in its input.
func (w *writer) in(root, i int) int {
	if w.c.Name == "reducescatter" || w.c.Name == "allreduce" {
		return root*w.n + i
	}
	return i
}

func (w *writer) copyMove(m Move) {
	from := place{collective.Out, w.out(m.Root, m.First)}
	if m.From == m.Root && !w.c.Reduces() {
		from = place{collective.In, m.First}
	}
	w.copy(m.From, from, m.To, place{collective.Out, w.out(m.Root, m.First)}, m.Count)
}

// reduce combines chunks, in runs that are contiguous at both ends.
func (w *writer) reduce(m Move) {
	for i := m.First; i < m.First+m.Count; {
		at := w.startSums(m.To, m.Root, i, m.First+m.Count)
		to := w.valueOf(m.To, m.Root, i)
		from := w.valueOf(m.From, m.Root, i)
		run := 1
		for i+run < at && w.contiguous(m.From, m.Root, i, run, from) && w.contiguous(m.To, m.Root, i, run, to) {
			run++
		}
		w.combine(m.From, from, m.To, to, run)
		i += run
	}
}

// contiguous reports whether a rank's chunk i+run is run positions after first, the
// place of chunk i.
func (w *writer) contiguous(rank, root, i, run int, first place) bool {
	p := w.valueOf(rank, root, i+run)
	return p.buf == first.buf && p.index == first.index+run
}

// valueOf returns the place of a rank's value of a root's chunk i: in its input, or
// where it accumulates the sum.
func (w *writer) valueOf(rank, root, i int) place {
	at, begun := w.accumulators[rank][root*w.n+i]
	switch {
	case !begun:
		return place{collective.In, w.in(root, i)}
	case at == inOutput:
		return place{collective.Out, w.out(root, i)}
	}
	return place{collective.Scratch, at}
}

// startSums copies a rank's own chunks, from i to the first that it has begun to
// combine, to where it will accumulate them. It returns where it stopped. If chunk i
// itself is begun, it does nothing and returns end.
func (w *writer) startSums(rank, root, i, end int) int {
	key := root*w.n + i
	if _, begun := w.accumulators[rank][key]; begun {
		return end
	}
	run := 1
	for ; i+run < end; run++ {
		if _, begun := w.accumulators[rank][key+run]; begun {
			break
		}
	}
	to := place{collective.Out, w.out(root, i)}
	here := inOutput
	if !w.outputHoldsAll() && rank != root {
		here = w.scratch[rank]
		to = place{collective.Scratch, here}
		w.scratch[rank] += run
	}
	w.copy(rank, place{collective.In, w.in(root, i)}, rank, to, run)
	for k := range run {
		w.accumulators[rank][key+k] = here
		if here != inOutput {
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
