package synth

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// Program returns the chunk program of a routing that answers q. Chunks that a step sends
// over one lane between adjacent places are one operation. A chunk is in its place in the
// output at ranks that want it, and in scratch at others. The error is a *QueryError or
// lang's.
func Program(q Query, a Answer, name string) (*lang.Program, error) {
	p, err := newProblem(context.Background(), q)
	if err != nil {
		return nil, err
	}
	w := &writer{p: p, t: lang.NewTrace(name, q.Collective), scratch: make([]int, p.net.ranks)}
	w.t.SetLinked(q.Topology.Linked)
	for x := range p.items {
		w.at = append(w.at, make([]place, p.net.ranks))
		for r := range w.at[x] {
			it := &p.items[x]
			if it.source == r || p.reduces {
				w.at[x][r] = place{true, collective.In, it.index}
			}
		}
	}
	for _, step := range a.Schedule {
		w.step(step)
	}
	w.copyToOutputs()
	if w.err != nil {
		return nil, w.err
	}
	return w.t.Finish()
}

// place is where a rank holds a chunk.
type place struct {
	filled bool
	buf    collective.Buffer
	index  int
}

// writer traces a schedule.
type writer struct {
	p       *problem
	t       *lang.Trace
	at      [][]place // by item and rank: where it holds the item
	scratch []int     // by rank: chunks used so far
	err     error
}

// move is one chunk's copy or reduction.
type move struct {
	from, to int
	src, dst place
	reduce   bool
}

// step traces the sends of a step. All of them read the values from before the step, so a
// value that is both overwritten and sent is copied aside first.
func (w *writer) step(step Step) {
	sends := slices.Clone(step.Sends)
	slices.SortStableFunc(sends, func(a, b Send) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Item, b.Item))
	})
	var first, last []move
	now := map[[2]int]place{} // where receivers will hold an item
	var order []Send          // the items of now, in order
	for _, m := range sends {
		k := [2]int{m.Item, m.To}
		if _, ok := now[k]; ok {
			continue
		}
		home := w.target(m.Item, m.To)
		had := w.at[m.Item][m.To]
		if m.Reduce && had != home {
			first = append(first, move{m.To, m.To, had, home, false})
		}
		now[k] = home
		order = append(order, m)
	}
	// Copy aside values that are both overwritten in place and sent. In place, a rank's
	// contribution is where its sum will be.
	aside := map[[2]int]place{}
	for _, m := range sends {
		k := [2]int{m.Item, m.From}
		to, written := now[k]
		src := w.at[m.Item][m.From]
		if _, done := aside[k]; written && !done && w.aliases(m.From, src, to) && w.t.Collective().Reduces() {
			spare := w.newScratch(m.From)
			first = append(first, move{m.From, m.From, src, spare, false})
			aside[k] = spare
		}
	}
	for _, m := range sends {
		src, ok := aside[[2]int{m.Item, m.From}]
		if !ok {
			src = w.at[m.Item][m.From]
		}
		last = append(last, move{m.From, m.To, src, now[[2]int{m.Item, m.To}], m.Reduce})
	}
	slices.SortStableFunc(first, func(a, b move) int { return cmp.Compare(a.from, b.from) })
	w.emit(first)
	w.emit(last)
	for _, m := range order {
		w.at[m.Item][m.To] = now[[2]int{m.Item, m.To}]
	}
}

// target returns where a rank receives an item: its place in the output, or scratch.
func (w *writer) target(item, rank int) place {
	if i := w.p.items[item].outputPlace(rank); i >= 0 {
		return place{true, collective.Out, i}
	}
	if had := w.at[item][rank]; had.filled && had.buf == collective.Scratch {
		return had
	}
	return w.newScratch(rank)
}

// newScratch returns an unused chunk of scratch.
func (w *writer) newScratch(rank int) place {
	w.scratch[rank]++
	return place{true, collective.Scratch, w.scratch[rank] - 1}
}

// aliases reports whether two places of a rank are the same memory, as they can be in an
// in-place call.
func (w *writer) aliases(rank int, a, b place) bool {
	c := w.t.Collective()
	bufA, indexA := c.Place(rank, a.buf, a.index)
	bufB, indexB := c.Place(rank, b.buf, b.index)
	return bufA == bufB && indexA == indexB
}

// copyToOutputs copies values to their places in the output, if they are not there.
func (w *writer) copyToOutputs() {
	var moves []move
	for x := range w.p.items {
		it := &w.p.items[x]
		for i, r := range it.wanted {
			have := w.at[x][r]
			for _, out := range it.out[i] {
				if to := (place{true, collective.Out, out}); have != to {
					moves = append(moves, move{r, r, have, to, false})
				}
			}
		}
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(a.from, b.from) })
	w.emit(moves)
}

// emit traces moves, merging adjacent ones.
func (w *writer) emit(moves []move) {
	for i := 0; i < len(moves) && w.err == nil; {
		m, n := moves[i], 1
		for i+n < len(moves) && follows(moves[i+n-1], moves[i+n]) {
			n++
		}
		w.trace(m, n)
		i += n
	}
}

func follows(a, b move) bool {
	return a.from == b.from && a.to == b.to && a.reduce == b.reduce &&
		a.src.buf == b.src.buf && a.src.index+1 == b.src.index &&
		a.dst.buf == b.dst.buf && a.dst.index+1 == b.dst.index
}

func (w *writer) trace(m move, n int) {
	if !m.src.filled {
		w.err = fmt.Errorf("rank %d sends a chunk it has nowhere", m.from)
		return
	}
	src, err := w.t.Chunk(m.from, m.src.buf, m.src.index, n, 1)
	if err == nil && m.reduce {
		var own *lang.Ref
		if own, err = w.t.Chunk(m.to, m.dst.buf, m.dst.index, n, 1); err == nil {
			_, err = own.Reduce(src, -1)
		}
	} else if err == nil {
		_, err = src.Copy(m.to, m.dst.buf, m.dst.index, -1)
	}
	w.err = err
}
