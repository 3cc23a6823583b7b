package compiler

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// builder writes lang.Programs without going through the language; or has the
// language trace the operations as they come, and keeps none, where there is a
// trace.
type builder struct {
	p       lang.Program
	scope   int32
	channel int
	trace   *lang.Trace
}

// traceNext is told the trace of the next builder, where it is set.
var traceNext func(*lang.Trace)

// spot is a place of a rank.
type spot struct {
	rank  int
	buf   collective.Buffer
	index int
}

func in(rank, index int) spot  { return spot{rank, collective.In, index} }
func out(rank, index int) spot { return spot{rank, collective.Out, index} }
func sc(rank, index int) spot  { return spot{rank, collective.Scratch, index} }

func begin(s collective.Spec) *builder {
	c, err := collective.New(s)
	if err != nil {
		panic(err)
	}
	b := &builder{
		p:       lang.Program{Name: s.Name, Collective: c, Scopes: []lang.Scope{{Factor: 1}}, Scratch: make([]int, s.Ranks)},
		channel: none,
	}
	if traceNext != nil {
		b.trace = lang.NewTrace(s.Name, c)
		traceNext(b.trace)
	}
	return b
}

func (b *builder) span(s spot, count, stride int) lang.Span {
	if s.buf == collective.Scratch {
		b.p.Scratch[s.rank] = max(b.p.Scratch[s.rank], s.index+(count-1)*stride+1)
	}
	buf, index := b.p.Collective.Place(s.rank, s.buf, s.index)
	return lang.Span{Rank: int32(s.rank), Buf: buf, Index: int32(index), Count: int32(count), Stride: int32(stride)}
}

func (b *builder) op(k lang.Kind, from, to spot, count, fromStride, toStride int) {
	if b.trace != nil {
		if err := retrace(b.trace, k, from, to, count, fromStride, toStride, b.channel); err != nil {
			panic(err)
		}
		return
	}
	b.p.Add(lang.Op{
		Kind: k, Src: b.span(from, count, fromStride), Dst: b.span(to, count, toStride),
		Channel: int32(b.channel), Scope: b.scope,
	}, lang.Pos{File: "test", Line: len(b.p.Ops) + 1, Col: 1})
}

// retrace has the language trace an operation.
func retrace(t *lang.Trace, k lang.Kind, from, to spot, count, fromStride, toStride, channel int) error {
	t.At(lang.Pos{File: "test", Line: t.Len() + 1, Col: 1})
	src, err := t.Chunk(from.rank, from.buf, from.index, count, fromStride)
	if err != nil {
		return err
	}
	if k == lang.Copy {
		_, err = src.CopyStrided(to.rank, to.buf, to.index, toStride, channel)
		return err
	}
	dst, err := t.Chunk(to.rank, to.buf, to.index, count, toStride)
	if err == nil {
		_, err = dst.Reduce(src, channel)
	}
	return err
}

func (b *builder) copy(from, to spot, count int)   { b.op(lang.Copy, from, to, count, 1, 1) }
func (b *builder) reduce(to, from spot, count int) { b.op(lang.Reduce, from, to, count, 1, 1) }

// shuffle copies chunks that lie apart, to where they lie apart otherwise.
func (b *builder) shuffle(from, to spot, count, fromStride, toStride int) {
	b.op(lang.Copy, from, to, count, fromStride, toStride)
}

// parallel runs f under parallelize(factor).
func (b *builder) parallel(factor int, f func()) {
	outer := b.scope
	b.p.Scopes = append(b.p.Scopes, lang.Scope{Parent: outer, Factor: factor})
	b.scope = int32(len(b.p.Scopes) - 1)
	f()
	b.scope = outer
}

func allreduce(ranks, chunks int) *builder {
	return begin(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks, InPlace: true})
}

func (b *builder) ringReduceScatter(ranks []int, offset, count int) {
	n := len(ranks)
	for r := range n {
		index := offset + r*count
		for step := 1; step < n; step++ {
			b.reduce(in(ranks[(step+r+1)%n], index), in(ranks[(step+r)%n], index), count)
		}
	}
}

func (b *builder) ringAllGather(ranks []int, offset, count int) {
	n := len(ranks)
	for r := range n {
		index := offset + r*count
		for step := 1; step < n; step++ {
			b.copy(in(ranks[(step+r-1)%n], index), in(ranks[(step+r)%n], index), count)
		}
	}
}

// ringAllReduce spreads the ring's chunks over channels.
func ringAllReduce(ranks, channels int) *lang.Program {
	b := allreduce(ranks, ranks)
	for r := range ranks {
		b.channel = r % channels
		if channels == 1 {
			b.channel = none
		}
		for step := 1; step < 2*ranks-1; step++ {
			from, to := in((step+r-1)%ranks, r), in((step+r)%ranks, r)
			if step < ranks {
				b.reduce(to, from, 1)
			} else {
				b.copy(from, to, 1)
			}
		}
	}
	return &b.p
}

// ringOutOfPlace copies all input to the output first, and reduces there.
func ringOutOfPlace(ranks int) *lang.Program {
	b := begin(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks})
	for r := range ranks {
		for c := range ranks {
			b.copy(in(r, c), out(r, c), 1)
		}
	}
	for c := range ranks {
		for step := 1; step < 2*ranks-1; step++ {
			from, to := out((step+c-1)%ranks, c), out((step+c)%ranks, c)
			if step < ranks {
				b.reduce(to, from, 1)
			} else {
				b.copy(from, to, 1)
			}
		}
	}
	return &b.p
}

// ringReduceScatter copies what it reduces to scratch first, and the last to the
// output.
func ringReduceScatter(ranks int) *lang.Program {
	b := begin(collective.Spec{Name: "reducescatter", Ranks: ranks, Chunks: 1})
	for c := range ranks {
		from := in((c+1)%ranks, c)
		for step := 2; step <= ranks; step++ {
			own := (c + step) % ranks
			to := sc(own, c)
			if own == c {
				to = out(c, 0)
			}
			b.copy(in(own, c), to, 1)
			b.reduce(to, from, 1)
			from = to
		}
	}
	return &b.p
}

// allPairs returns the two-phase all-pairs AllReduce, with R² chunks as the
// peer has it where wide is set.
func allPairs(ranks int, wide bool) *lang.Program {
	width := 1
	if wide {
		width = ranks
	}
	b := allreduce(ranks, ranks*width)
	for r1 := range ranks {
		for r2 := range ranks {
			if r1 != r2 {
				b.copy(in(r1, r2*width), sc(r2, (r1-b2i(r1 > r2))*width), width)
			}
		}
	}
	for r := range ranks {
		for i := range width {
			for peer := range ranks - 1 {
				b.reduce(in(r, r*width+i), sc(r, peer*width+i), 1)
			}
		}
	}
	for r1 := range ranks {
		for r2 := range ranks {
			if r1 != r2 {
				b.copy(in(r1, r1*width), in(r2, r1*width), width)
			}
		}
	}
	return &b.p
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hierarchical returns GC3's Figure 3.
func hierarchical(nodes, gpus, parallel int) *lang.Program {
	b := allreduce(nodes*gpus, nodes*gpus)
	local := func(n int) []int {
		r := make([]int, gpus)
		for i := range r {
			r[i] = i + n*gpus
		}
		return r
	}
	for n := range nodes {
		b.channel = 0
		b.parallel(parallel, func() { b.ringReduceScatter(local(n), 0, nodes) })
	}
	for g := range gpus {
		cross := make([]int, nodes)
		for i := range cross {
			cross[i] = i*gpus + g
		}
		b.channel = 1
		// The paper's Figure 3b leaves rank (r+n-1+1) with the sum of part r.
		b.ringReduceScatter(cross, ((g+gpus)%gpus)*nodes, 1)
		b.ringAllGather(cross, ((g+gpus)%gpus)*nodes, 1)
	}
	for n := range nodes {
		b.channel = 2
		b.parallel(parallel, func() { b.ringAllGather(local(n), 0, nodes) })
	}
	return &b.p
}

// twoStep returns GC3's Figure 8 as meant: gathered within the node, then one
// message a pair of nodes.
func twoStep(nodes, gpus int) *lang.Program {
	b := begin(collective.Spec{Name: "alltoall", Ranks: nodes * gpus, Chunks: 1})
	for n := range nodes {
		for g := range gpus {
			for m := range nodes {
				for i := range gpus {
					from := in(m*gpus+i, n*gpus+g)
					if n == m {
						b.copy(from, out(n*gpus+g, m*gpus+i), 1)
					} else {
						b.copy(from, sc(m*gpus+g, n*gpus+i), 1)
					}
				}
				if n != m {
					b.copy(sc(m*gpus+g, n*gpus), out(n*gpus+g, m*gpus), gpus)
				}
			}
		}
	}
	return &b.p
}

// recursiveDoubling returns an AllGather whose messages double.
func recursiveDoubling(ranks int) *lang.Program {
	b := begin(collective.Spec{Name: "allgather", Ranks: ranks, Chunks: 1, InPlace: true})
	for width := 1; width < ranks; width *= 2 {
		for r := range ranks {
			b.copy(out(r, r/width*width), out(r^width, r/width*width), width)
		}
	}
	return &b.p
}

// halvingDoubling returns the recursive halving-doubling AllReduce.
func halvingDoubling(ranks int) *lang.Program {
	b := allreduce(ranks, ranks)
	for width := ranks / 2; width >= 1; width /= 2 {
		for r := range ranks {
			peer := r ^ width
			b.copy(in(r, peer/width*width), sc(peer, peer/width*width), width)
		}
		for r := range ranks {
			b.reduce(in(r, r/width*width), sc(r, r/width*width), width)
		}
	}
	for width := 1; width < ranks; width *= 2 {
		for r := range ranks {
			b.copy(in(r, r/width*width), in(r^width, r/width*width), width)
		}
	}
	return &b.p
}

// twoLevel returns PCCL's AllGather: recursive doubling between the nodes, over the
// GPUs of the same number, then a ring within every node, a step for everything
// a GPU has gathered.
//
// The local shuffle at the end is one operation for each GPU number, or one for
// each chunk.
func twoLevel(nodes, gpus int, single bool) *lang.Program {
	b := begin(collective.Spec{Name: "allgather", Ranks: nodes * gpus, Chunks: 1, InPlace: true})
	// GPU g of node n gathers chunk (m, g) of every node m in scratch, together.
	for r := range nodes * gpus {
		b.copy(out(r, r), sc(r, r/gpus), 1)
	}
	for width := 1; width < nodes; width *= 2 {
		for n := range nodes {
			for g := range gpus {
				from := n / width * width
				b.copy(sc(n*gpus+g, from), sc((n^width)*gpus+g, from), width)
			}
		}
	}
	for n := range nodes {
		for g := range gpus {
			for step := 1; step < gpus; step++ {
				at, next := n*gpus+(g+step-1)%gpus, n*gpus+(g+step)%gpus
				place := func(r int) spot {
					if r == n*gpus+g {
						return sc(r, 0)
					}
					return sc(r, nodes*(1+(r-n*gpus+gpus-g-1)%gpus))
				}
				b.copy(place(at), place(next), nodes)
			}
			// The local shuffle: chunk (m, g) to its place.
			for x := range gpus {
				r := n*gpus + x
				at := 0
				if x != g {
					at = nodes * (1 + (x+gpus-g-1)%gpus)
				}
				if !single {
					b.shuffle(sc(r, at), out(r, g), nodes, 1, gpus)
					continue
				}
				for m := range nodes {
					if m != n || x != g {
						b.copy(sc(r, at+m), out(r, m*gpus+g), 1)
					}
				}
			}
		}
	}
	return &b.p
}
