package verify

import (
	"math/rand"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// builder makes programs by what they move, as plainly as possible: each
// transfer is a send and a receive, or a copy or reduction within a rank, and
// each step waits for whatever touched its chunks before.
type builder struct {
	p    *ir.Program
	tbs  map[[4]int]int         // by GPU, send peer, receive peer, channel
	last map[cell][]touchedStep // the last write and the reads since
}

type touchedStep struct {
	tb, step int
	write    bool
}

func newBuilder(spec collective.Spec, scratch int) *builder {
	p := &ir.Program{Collective: spec, GPUs: make([]ir.GPU, spec.Ranks)}
	for g := range p.GPUs {
		p.GPUs[g].Scratch = scratch
	}
	return &builder{p, map[[4]int]int{}, map[cell][]touchedStep{}}
}

// step appends to the threadblock with these peers, and waits for what it must.
func (b *builder) step(g, send, recv, channel int, s ir.Step) {
	k := [4]int{g, send, recv, channel}
	gpu := &b.p.GPUs[g]
	t, ok := b.tbs[k]
	if !ok {
		t = len(gpu.Threadblocks)
		b.tbs[k] = t
		gpu.Threadblocks = append(gpu.Threadblocks, ir.Threadblock{Send: send, Recv: recv, Channel: channel})
	}
	me := len(gpu.Threadblocks[t].Steps)
	wait := func(a touchedStep) {
		if a.tb == t {
			return
		}
		gpu.Threadblocks[a.tb].Steps[a.step].HasDep = true
		for i, d := range s.Deps {
			if int(d.TB) == a.tb {
				s.Deps[i].Step = max(d.Step, int32(a.step))
				return
			}
		}
		s.Deps = append(s.Deps, ir.Dep{TB: int32(a.tb), Step: int32(a.step)})
	}
	for i := range int(s.Count) {
		if s.Op.ReadsSrc() {
			c := cell{0, g, s.Src.Buf, nth(s.Src, i)}
			for _, a := range b.last[c] {
				if a.write {
					wait(a)
				}
			}
			b.last[c] = append(b.last[c], touchedStep{t, me, false})
		}
		if s.Op.WritesDst() {
			c := cell{0, g, s.Dst.Buf, nth(s.Dst, i)}
			for _, a := range b.last[c] {
				wait(a)
			}
			b.last[c] = []touchedStep{{t, me, true}}
		}
	}
	gpu.Threadblocks[t].Steps = append(gpu.Threadblocks[t].Steps, s)
}

// move sends count chunks; two-sided threadblocks where joined.
func (b *builder) move(from int, src ir.Loc, to int, dst ir.Loc, count, channel int, reduce, joined bool) {
	back, forth := -1, -1
	if joined {
		back, forth = to, from
	}
	b.step(from, to, back, channel, ir.Step{Op: ir.Send, Count: int32(count), Src: src})
	op := ir.Step{Op: ir.Recv, Count: int32(count), Dst: dst}
	if reduce {
		op = ir.Step{Op: ir.RecvReduceCopy, Count: int32(count), Src: dst, Dst: dst}
	}
	b.step(to, forth, from, channel, op)
}

func loc(buf collective.Buffer, off int) ir.Loc { return ir.Loc{Buf: buf, Off: int32(off)} }

// nth returns where chunk i of a place lies.
func nth(l ir.Loc, i int) int {
	at := int(l.Off)
	for ; i > 0; i-- {
		at += max(1, int(l.Stride))
	}
	return at
}

// randomProgram returns a right program with random routes, counts and channels.
func randomProgram(rng *rand.Rand) *ir.Program {
	ranks, chunks, channels := 2+rng.Intn(4), 1+rng.Intn(3), 1+rng.Intn(2)
	if rng.Intn(20) == 0 {
		ranks, chunks, channels = ranks+3, 4*chunks, 1
	}
	switch rng.Intn(6) {
	case 5:
		return randomShuffle(rng, ranks, chunks, channels)
	case 0:
		return randomBroadcasts(rng, ranks, chunks, channels)
	case 1:
		return randomReduction(rng, ranks, chunks, channels)
	case 2:
		return ringAllreduce(ranks, chunks)
	case 3:
		return allPairs(ranks, chunks, rng.Intn(2) == 0)
	}
	return randomAllToAll(rng, ranks, chunks, channels)
}

// randomBroadcasts returns an allgather: each rank's part along a random tree.
func randomBroadcasts(rng *rand.Rand, ranks, chunks, channels int) *ir.Program {
	inPlace := rng.Intn(2) == 0
	b := newBuilder(collective.Spec{Name: "allgather", Ranks: ranks, Chunks: chunks, InPlace: inPlace}, 0)
	type part struct{ has []int }
	parts := make([]part, ranks)
	for r := range ranks {
		parts[r].has = []int{r}
		if !inPlace {
			b.step(r, -1, -1, 0, ir.Step{Op: ir.Copy, Count: int32(chunks), Src: loc(collective.In, 0), Dst: loc(collective.Out, r*chunks)})
		}
	}
	left := make([][]int, ranks)
	for r := range left {
		for o := range ranks {
			if o != r {
				left[r] = append(left[r], o)
			}
		}
		rng.Shuffle(ranks-1, func(i, j int) { left[r][i], left[r][j] = left[r][j], left[r][i] })
	}
	joined := rng.Intn(2) == 0
	for n := ranks * (ranks - 1); n > 0; n-- {
		r := rng.Intn(ranks)
		for len(left[r]) == 0 {
			r = (r + 1) % ranks
		}
		from, to := parts[r].has[rng.Intn(len(parts[r].has))], left[r][0]
		left[r] = left[r][1:]
		parts[r].has = append(parts[r].has, to)
		b.move(from, loc(collective.Out, r*chunks), to, loc(collective.Out, r*chunks), chunks, rng.Intn(channels), false, joined)
	}
	return b.p
}

// randomReduction reduces every chunk into a random rank, along random edges,
// and sends it back out: an allreduce.
func randomReduction(rng *rand.Rand, ranks, chunks, channels int) *ir.Program {
	b := newBuilder(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks, InPlace: true}, 0)
	joined := rng.Intn(2) == 0
	for c := range chunks {
		alive := rng.Perm(ranks)
		var edges [][2]int
		for len(alive) > 1 {
			from := alive[0]
			alive = alive[1:]
			to := alive[rng.Intn(len(alive))]
			edges = append(edges, [2]int{from, to})
			b.move(from, loc(collective.In, c), to, loc(collective.In, c), 1, rng.Intn(channels), true, joined)
		}
		for i := len(edges) - 1; i >= 0; i-- {
			b.move(edges[i][1], loc(collective.In, c), edges[i][0], loc(collective.In, c), 1, channels, false, false)
		}
	}
	return b.p
}

// ringAllreduce returns one threadblock a rank with fused steps.
func ringAllreduce(ranks, chunks int) *ir.Program {
	spec := collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks * chunks, InPlace: true}
	p := &ir.Program{Collective: spec, GPUs: make([]ir.GPU, ranks)}
	for g := range p.GPUs {
		tb := ir.Threadblock{Send: (g + 1) % ranks, Recv: (g + ranks - 1) % ranks}
		for i := range 2*ranks - 1 {
			s := ir.Step{Op: ir.RecvCopySend, Count: int32(chunks)}
			switch {
			case i == 0:
				s.Op = ir.Send
			case i < ranks-1:
				s.Op = ir.RecvReduceSend
			case i == ranks-1:
				s.Op = ir.RecvReduceCopySend
			case i == 2*ranks-2:
				s.Op = ir.Recv
			}
			l := loc(collective.In, (g-i+2*ranks)%ranks*chunks)
			if s.Op.ReadsSrc() {
				s.Src = l
			}
			if s.Op.WritesDst() {
				s.Dst = l
			}
			tb.Steps = append(tb.Steps, s)
		}
		p.GPUs[g].Threadblocks = []ir.Threadblock{tb}
	}
	return p
}

// allPairs returns an allreduce through scratch.
func allPairs(ranks, chunks int, joined bool) *ir.Program {
	spec := collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks * chunks, InPlace: true}
	b := newBuilder(spec, ranks*chunks)
	for from := range ranks {
		for to := range ranks {
			if from != to {
				b.move(from, loc(collective.In, to*chunks), to, loc(collective.Scratch, from*chunks), chunks, 0, false, joined)
			}
		}
	}
	for r := range ranks {
		for from := range ranks {
			if from != r {
				b.step(r, -1, -1, 0, ir.Step{Op: ir.Reduce, Count: int32(chunks), Src: loc(collective.Scratch, from*chunks), Dst: loc(collective.In, r*chunks)})
			}
		}
	}
	for from := range ranks {
		for to := range ranks {
			if from != to {
				b.move(from, loc(collective.In, from*chunks), to, loc(collective.In, from*chunks), chunks, 0, false, joined)
			}
		}
	}
	return b.p
}

// randomShuffle returns an alltoall that arrives chunk by chunk of all ranks,
// and is put in order in one copy or in one a rank.
func randomShuffle(rng *rand.Rand, ranks, chunks, channels int) *ir.Program {
	b := newBuilder(collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: chunks}, ranks*chunks)
	for from := range ranks {
		for to := range ranks {
			src := loc(collective.In, to*chunks)
			dst := ir.Loc{Buf: collective.Scratch, Off: int32(from), Stride: int32(ranks)}
			if from == to {
				b.step(from, -1, -1, 0, ir.Step{Op: ir.Copy, Count: int32(chunks), Src: src, Dst: dst})
			} else {
				b.move(from, src, to, dst, chunks, rng.Intn(channels), false, false)
			}
		}
	}
	for r := range ranks {
		if rng.Intn(2) == 0 {
			for from := range ranks {
				src := ir.Loc{Buf: collective.Scratch, Off: int32(from), Stride: int32(ranks)}
				b.step(r, -1, -1, 0, ir.Step{Op: ir.Copy, Count: int32(chunks), Src: src, Dst: loc(collective.Out, from*chunks)})
			}
			continue
		}
		for k := range chunks {
			dst := ir.Loc{Buf: collective.Out, Off: int32(k), Stride: int32(chunks)}
			b.step(r, -1, -1, 0, ir.Step{Op: ir.Copy, Count: int32(ranks), Src: loc(collective.Scratch, k*ranks), Dst: dst})
		}
	}
	return b.p
}

// randomAllToAll sends each part directly, or through the scratch of another.
func randomAllToAll(rng *rand.Rand, ranks, chunks, channels int) *ir.Program {
	b := newBuilder(collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: chunks}, ranks*ranks*chunks)
	for from := range ranks {
		for to := range ranks {
			src, dst := loc(collective.In, to*chunks), loc(collective.Out, from*chunks)
			via := rng.Intn(ranks)
			switch {
			case from == to:
				b.step(from, -1, -1, 0, ir.Step{Op: ir.Copy, Count: int32(chunks), Src: src, Dst: dst})
			case via == from || via == to:
				b.move(from, src, to, dst, chunks, rng.Intn(channels), false, false)
			default:
				mid := loc(collective.Scratch, (from*ranks+to)*chunks)
				b.move(from, src, via, mid, chunks, rng.Intn(channels), false, false)
				b.move(via, mid, to, dst, chunks, rng.Intn(channels), false, false)
			}
		}
	}
	return b.p
}
