package trees

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// Program is the chunk program of a packing: K chunks of each root, one for a
// tree, those of trees that are alike sent together. Edges near the leaves that
// data start from come first, over all trees, so that no tree waits for another.
// In place, the call's two buffers overlap as package collective says.
func (p *Packing) Program(inPlace bool) (*lang.Program, error) {
	c, err := collective.New(collective.Spec{Name: p.Collective, Ranks: p.Ranks, Chunks: p.K, Root: p.Root, InPlace: inPlace})
	if err != nil {
		return nil, err
	}
	w := &writer{t: lang.NewTrace("trees", c)}
	if p.Reversed() {
		w.reduce(p, 1, scratchAt(p))
	} else {
		w.spread(p, 1, func(root int) int { return p.outAt(root) })
	}
	return w.finish()
}

// AllReduce is the chunk program that reduces every part of the data to a rank
// over the trees of one packing, for reducescatter, and spreads it over those of
// another, for allgather.
func AllReduce(to, from *Packing, inPlace bool) (*lang.Program, error) {
	if to.Collective != "reducescatter" || from.Collective != "allgather" || to.Ranks != from.Ranks {
		return nil, fmt.Errorf("allreduce of %s over %d ranks and %s over %d: want reducescatter and allgather over as many",
			to.Collective, to.Ranks, from.Collective, from.Ranks)
	}
	k := to.K / gcd(to.K, from.K) * from.K
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: to.Ranks, Chunks: to.Ranks * k, InPlace: inPlace})
	if err != nil {
		return nil, err
	}
	w := &writer{t: lang.NewTrace("trees", c)}
	// Sums grow in the output, which is written over in the end.
	w.reduce(to, k/to.K, func(root int) places {
		own := place{collective.In, root * k}
		sum := place{collective.Out, root * k}
		return places{own: own, sum: func(int) place { return sum }}
	})
	w.spread(from, k/from.K, func(root int) int { return root * k })
	return w.finish()
}

// writer traces programs and keeps their first error.
type writer struct {
	t   *lang.Trace
	err error
}

// place is the first chunk of a root's data in a buffer.
type place struct {
	buf   collective.Buffer
	index int
}

// places are where the chunks for one root lie that are to be combined: a rank's
// own, and what it has combined.
type places struct {
	own place
	sum func(rank int) place
}

// step is an edge of a tree at its depth.
type step struct {
	tree, edge int
	depth      int
}

// steps lists all edges of all trees, those at the root first, and for each
// tree the first of its root's chunks.
func (p *Packing) steps() (list []step, first []int) {
	depth := make([]int, p.Ranks)
	next := make([]int, p.Ranks)
	for i, t := range p.Trees {
		first = append(first, next[t.Root])
		next[t.Root] += t.Count
		depth[t.Root] = 0
		for e, edge := range t.Edges {
			depth[edge.Child] = depth[edge.Parent] + 1
			list = append(list, step{i, e, depth[edge.Child]})
		}
	}
	slices.SortStableFunc(list, func(a, b step) int { return cmp.Compare(a.depth, b.depth) })
	return list, first
}

// outAt is where a root's data lie in the output of every rank.
func (p *Packing) outAt(root int) int {
	if kinds[p.Collective].rooted {
		return 0
	}
	return root * p.K
}

// spread copies each root's chunks down its trees, chunks to a tree. The root's
// data lie at the same place of every output, of its own in the end too.
func (w *writer) spread(p *Packing, chunks int, at func(root int) int) {
	reduces := w.t.Collective().Reduces()
	if !reduces {
		for r := range p.Ranks {
			if n := p.K; w.t.Collective().InChunks(r) > 0 {
				w.copy(r, place{collective.In, 0}, r, place{collective.Out, at(r)}, n)
			}
		}
	}
	steps, first := p.steps()
	for _, s := range steps {
		t := &p.Trees[s.tree]
		e := t.Edges[s.edge]
		off := first[s.tree] * chunks
		here := place{collective.Out, at(t.Root) + off}
		from := here
		if e.Parent == t.Root && !reduces {
			from = place{collective.In, off}
		}
		w.copy(e.Parent, from, e.Child, here, t.Count*chunks)
	}
}

// reduce combines every rank's chunks for each root up its trees.
func (w *writer) reduce(p *Packing, chunks int, at func(root int) places) {
	steps, first := p.steps()
	slices.Reverse(steps)
	begun := make([][]bool, len(p.Trees)) // by tree and rank: it has combined something
	for i := range begun {
		begun[i] = make([]bool, p.Ranks)
	}
	where := make([]places, p.Ranks)
	for r := range where {
		where[r] = at(r)
	}
	for _, s := range steps {
		t := &p.Trees[s.tree]
		e := t.Edges[s.edge]
		off, n := first[s.tree]*chunks, t.Count*chunks
		own := place{where[t.Root].own.buf, where[t.Root].own.index + off}
		sum := func(r int) place {
			s := where[t.Root].sum(r)
			return place{s.buf, s.index + off}
		}
		if !begun[s.tree][e.Parent] {
			begun[s.tree][e.Parent] = true
			w.copy(e.Parent, own, e.Parent, sum(e.Parent), n)
		}
		from := own
		if begun[s.tree][e.Child] {
			from = sum(e.Child)
		}
		w.combine(e.Child, from, e.Parent, sum(e.Parent), n)
	}
}

// scratchAt places the sums of reducescatter and reduce: in the root's output,
// and in other ranks' scratch, where every root has as much as it needs there.
func scratchAt(p *Packing) func(root int) places {
	used := make([]int, p.Ranks)
	return func(root int) places {
		if kinds[p.Collective].rooted && root != p.Root {
			return places{}
		}
		inner := make([]bool, p.Ranks)
		for _, t := range p.Trees {
			for _, e := range t.Edges {
				inner[e.Parent] = inner[e.Parent] || t.Root == root
			}
		}
		at := make([]int, p.Ranks)
		for r := range at {
			at[r] = used[r]
			if inner[r] && r != root {
				used[r] += p.K
			}
		}
		return places{
			own: place{collective.In, p.outAt(root)},
			sum: func(r int) place {
				if r == root {
					return place{collective.Out, 0}
				}
				return place{collective.Scratch, at[r]}
			}}
	}
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

func (w *writer) finish() (*lang.Program, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.t.Finish()
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
