package cpu

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

func system(t rapid.TB, name string) *topologies.Topology {
	t.Helper()
	return topotest.Resolve(t, name, 0)
}

// traced compiles the operations that f traces in the chunk language.
func traced(t rapid.TB, spec collective.Spec, o compiler.Options, f func(*tracer)) *ir.Program {
	t.Helper()
	c, err := collective.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	trace := lang.NewTrace("traced", c)
	f(&tracer{t, trace, c})
	p, err := trace.Finish()
	if err != nil {
		t.Fatal(err)
	}
	r, err := compiler.Compile(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Program
}

// tracer is a trace whose errors end the test.
type tracer struct {
	t rapid.TB
	*lang.Trace
	collective.Collective
}

func (t *tracer) chunk(rank int, b collective.Buffer, index, count int) *lang.Ref {
	t.t.Helper()
	r, err := t.Chunk(rank, b, index, count, 1)
	return t.must(r, err)
}

func (t *tracer) copy(r *lang.Ref, rank int, b collective.Buffer, index, ch int) *lang.Ref {
	t.t.Helper()
	to, err := r.Copy(rank, b, index, ch)
	return t.must(to, err)
}

func (t *tracer) must(r *lang.Ref, err error) *lang.Ref {
	t.t.Helper()
	if err != nil {
		t.t.Fatal(err)
	}
	return r
}

// ring is the ring allreduce: chunks go round once to be reduced and once to be
// distributed.
func ring(t rapid.TB, ranks int, o compiler.Options) *ir.Program {
	return traced(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks, InPlace: true}, o, func(t *tracer) {
		for i := range ranks {
			c := t.chunk(i, collective.In, i, 1)
			for s := 1; s < ranks; s++ {
				r, err := t.chunk((i+s)%ranks, collective.In, i, 1).Reduce(c, 0)
				c = t.must(r, err)
			}
			for s := range ranks - 1 {
				c = t.copy(c, (i+s)%ranks, collective.In, i, 0)
			}
		}
	})
}

// allPairs is the allreduce of two steps: every rank receives its part from all others
// and reduces it, then sends it to all.
func allPairs(t rapid.TB, ranks int, o compiler.Options) *ir.Program {
	return traced(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks, InPlace: true}, o, func(t *tracer) {
		for rank := range ranks {
			for d := 1; d < ranks; d++ {
				t.copy(t.chunk((rank+d)%ranks, collective.In, rank, 1), rank, collective.Scratch, d-1, -1)
			}
			for d := range ranks - 1 {
				sum, err := t.chunk(rank, collective.In, rank, 1).Reduce(t.chunk(rank, collective.Scratch, d, 1), -1)
				t.must(sum, err)
			}
		}
		for rank := range ranks {
			for d := 1; d < ranks; d++ {
				t.copy(t.chunk(rank, collective.In, rank, 1), (rank+d)%ranks, collective.In, rank, -1)
			}
		}
	})
}

// wandering returns a correct program for any collective: the terms of each output chunk
// are collected in random order along a walk over random ranks and scratch chunks, and
// sent to their rank by detours.
func wandering(t *rapid.T, spec collective.Spec, o compiler.Options) *ir.Program {
	place := 0
	return traced(t, spec, o, func(p *tracer) {
		c := p.Collective
		channel := func() int { return rapid.IntRange(-1, 1).Draw(t, "channel") }
		park := func(r *lang.Ref, rank int) *lang.Ref {
			place += rapid.IntRange(1, 2).Draw(t, "gap")
			return p.copy(r, rank, collective.Scratch, place, channel())
		}
		anyRank := rapid.IntRange(0, c.Ranks-1)
		// All inputs that an in-place output covers are taken away first.
		type term struct{ rank, index int }
		kept := map[term]*lang.Ref{}
		for r := range c.Ranks {
			for i := range c.InChunks(r) {
				kept[term{r, i}] = park(p.chunk(r, collective.In, i, 1), anyRank.Draw(t, "kept at"))
			}
		}
		for r := range c.Ranks {
			for i := range c.OutChunks(r) {
				var terms []term
				switch w := c.Want(r, i); w.Kind {
				case collective.WantInput:
					terms = []term{{w.Rank, w.Index}}
				case collective.WantReduction:
					for rank := range c.Ranks {
						terms = append(terms, term{rank, w.Index})
					}
				case collective.WantSum:
					for _, of := range w.Of {
						terms = append(terms, term{of.Rank, of.Index})
					}
				default:
					continue
				}
				terms = rapid.Permutation(terms).Draw(t, "order")
				acc := park(kept[terms[0]], anyRank.Draw(t, "at"))
				for _, next := range terms[1:] {
					own := park(kept[next], anyRank.Draw(t, "at"))
					reduced, err := own.Reduce(acc, channel())
					acc = p.must(reduced, err)
				}
				for range rapid.IntRange(0, 2).Draw(t, "detours") {
					acc = park(acc, anyRank.Draw(t, "by"))
				}
				p.copy(acc, r, collective.Out, i, channel())
			}
		}
	})
}

// drawn is a random call of any collective.
func drawn(t *rapid.T) collective.Spec {
	s := collective.Spec{
		Name:   rapid.SampledFrom(collective.Names()).Draw(t, "collective"),
		Ranks:  rapid.IntRange(2, 4).Draw(t, "ranks"),
		Chunks: rapid.IntRange(1, 3).Draw(t, "chunks"),
	}
	if rapid.IntRange(0, 4).Draw(t, "custom") == 0 {
		s.Name, s.Custom = "mine", table(t, s.Ranks)
	}
	if n := collective.CountsOf(s.Name, s.Ranks); n > 0 {
		s.Counts = rapid.SliceOfN(rapid.IntRange(0, 2), n, n).Draw(t, "counts")
		s.Counts[rapid.IntRange(0, n-1).Draw(t, "at least one")] = 1
	}
	try := func(change func(*collective.Spec)) {
		with := s
		if change(&with); rapid.Bool().Draw(t, "so") {
			if _, err := collective.New(with); err == nil {
				s = with
			}
		}
	}
	try(func(s *collective.Spec) { s.InPlace = true })
	try(func(s *collective.Spec) { s.Root = s.Ranks - 1 })
	return s
}

// table is a random collective of a user's own.
func table(t *rapid.T, ranks int) *collective.Table {
	units := rapid.IntRange(1, 2)
	c := &collective.Table{Same: rapid.Bool().Draw(t, "same")}
	for range ranks {
		c.In = append(c.In, units.Draw(t, "in"))
		c.Out = append(c.Out, rapid.IntRange(0, 2).Draw(t, "out"))
	}
	place := func() collective.Place {
		r := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		return collective.Place{Rank: r, Index: rapid.IntRange(0, c.In[r]-1).Draw(t, "index")}
	}
	for r := range ranks {
		wants := make([]collective.Want, c.Out[r])
		for i := range wants {
			w := &wants[i]
			switch w.Kind = collective.WantKind(rapid.IntRange(0, 3).Draw(t, "want")); w.Kind {
			case collective.WantInput:
				p := place()
				w.Rank, w.Index = p.Rank, p.Index
			case collective.WantSum:
				for range rapid.IntRange(2, 4).Draw(t, "terms") {
					w.Of = append(w.Of, place())
				}
			}
		}
		c.Want = append(c.Want, wants)
	}
	return c
}

// exchange is a program of two ranks that each send a chunk and then receive one.
func exchange(chunks int) *ir.Program {
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: []ir.Step{
			{Op: ir.Send, Count: int32(chunks)},
			{Op: ir.Recv, Count: int32(chunks), Dst: ir.Loc{Buf: collective.Out}},
		}}}}
	}
	return &ir.Program{
		Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: chunks},
		GPUs:       []ir.GPU{gpu(1), gpu(0)},
	}
}

func name(s collective.Spec) string {
	return fmt.Sprintf("%s/%d×%d", s.Name, s.Ranks, s.Chunks)
}
