package verify

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// channels repeats a program on several channels, each with chunks of its own.
func channels(p *ir.Program, n int) *ir.Program {
	q := &ir.Program{Collective: p.Collective, GPUs: make([]ir.GPU, len(p.GPUs))}
	per := p.Collective.Chunks
	q.Collective.Chunks *= n
	for g := range p.GPUs {
		for c := range n {
			for _, tb := range p.GPUs[g].Threadblocks {
				tb.Channel += c
				steps := make([]ir.Step, len(tb.Steps))
				for i, s := range tb.Steps {
					s.Src.Off += int32(c * per)
					s.Dst.Off += int32(c * per)
					steps[i] = s
				}
				tb.Steps = steps
				q.GPUs[g].Threadblocks = append(q.GPUs[g].Threadblocks, tb)
			}
		}
	}
	return q
}

// twoLevelAllGather doubles between nodes, each GPU with its peers, and goes
// round a ring within them; nodes is a power of two.
func twoLevelAllGather(nodes, local int) *ir.Program {
	ranks := nodes * local
	b := newBuilder(collective.Spec{Name: "allgather", Ranks: ranks, Chunks: 1, InPlace: true}, 0)
	out := func(n, g int) ir.Loc { return loc(collective.Out, n*local+g) }
	for hop := 1; hop < nodes; hop *= 2 {
		for n := range nodes {
			for g := range local {
				peer := (n^hop)*local + g
				first := n &^ (hop - 1)
				for i := range hop {
					b.step(n*local+g, peer, peer, 0, ir.Step{Op: ir.Send, Count: 1, Src: out(first+i, g)})
				}
				first ^= hop
				for i := range hop {
					b.step(n*local+g, peer, peer, 0, ir.Step{Op: ir.Recv, Count: 1, Dst: out(first+i, g)})
				}
			}
		}
	}
	for n := range nodes {
		for g := range local {
			rank, next, before := n*local+g, n*local+(g+1)%local, n*local+(g+local-1)%local
			for m := range nodes {
				b.step(rank, next, before, 1, ir.Step{Op: ir.Send, Count: 1, Src: out(m, g)})
				for i := 1; i < local; i++ {
					op := ir.RecvCopySend
					if i == local-1 {
						op = ir.Recv
					}
					b.step(rank, next, before, 1, ir.Step{Op: op, Count: 1, Dst: out(m, (g+local-i)%local)})
				}
			}
		}
	}
	return b.p
}

// twoStepAllToAll gathers what goes to a node at the GPU that sends it there.
func twoStepAllToAll(nodes, local int) *ir.Program {
	ranks := nodes * local
	b := newBuilder(collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: 1}, ranks)
	for n := range nodes {
		for g := range local {
			for m := range nodes {
				for h := range local {
					from, to := n*local+g, m*local+h
					src := loc(collective.In, to)
					switch {
					case from == to:
						b.step(from, -1, -1, 0, ir.Step{Op: ir.Copy, Count: 1, Src: src, Dst: loc(collective.Out, from)})
					case m == n:
						b.move(from, src, to, loc(collective.Out, from), 1, 0, false, false)
					case g == h:
						b.step(from, -1, -1, 0, ir.Step{Op: ir.Copy, Count: 1, Src: src, Dst: loc(collective.Scratch, m*local+g)})
					default:
						b.move(from, src, n*local+h, loc(collective.Scratch, m*local+g), 1, 0, false, false)
					}
				}
			}
		}
	}
	for n := range nodes {
		for m := range nodes {
			for g := range local {
				if n != m {
					b.move(n*local+g, loc(collective.Scratch, m*local), m*local+g, loc(collective.Out, n*local), local, 1, false, false)
				}
			}
		}
	}
	return b.p
}

// tree reduces up a binary tree and broadcasts down it, without the waits that
// the way up to the root and down again makes needless.
func tree(ranks, chunks int) *ir.Program {
	b := newBuilder(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks, InPlace: true}, 0)
	for c := range chunks {
		for r := ranks - 1; r > 0; r-- {
			b.move(r, loc(collective.In, c), (r-1)/2, loc(collective.In, c), 1, 0, true, false)
		}
	}
	for c := range chunks {
		for r := 1; r < ranks; r++ {
			b.move((r-1)/2, loc(collective.In, c), r, loc(collective.In, c), 1, 1, false, false)
		}
	}
	for g := range b.p.GPUs {
		for _, tb := range b.p.GPUs[g].Threadblocks {
			if tb.Channel == 1 && tb.Recv >= 0 {
				for i := range tb.Steps {
					tb.Steps[i].Deps = nil
				}
			}
		}
	}
	return b.p
}

func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() *ir.Program
	}{
		{"ring128x8", func() *ir.Program { return channels(ringAllreduce(128, 1), 8) }},
		{"allpairs32", func() *ir.Program { return allPairs(32, 32, true) }},
		{"twostep32x8", func() *ir.Program { return twoStepAllToAll(32, 8) }},
		{"tree1024", func() *ir.Program { return tree(1024, 64) }},
		{"twolevel64x8", func() *ir.Program { return twoLevelAllGather(64, 8) }},
		{"twolevel256x8", func() *ir.Program { return twoLevelAllGather(256, 8) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			b.ReportAllocs()
			b.ResetTimer()
			var r *Report
			for range b.N {
				if r = Check(p, Options{}); !r.OK() {
					b.Fatal(r.Err())
				}
			}
			b.ReportMetric(float64(r.Steps), "steps")
			b.ReportMetric(float64(r.SlotsNeeded), "slots")
		})
	}
}

func TestLargerProgramsAreRight(t *testing.T) {
	for _, p := range []*ir.Program{channels(ringAllreduce(16, 2), 3), allPairs(8, 8, true), tree(31, 5), twoStepAllToAll(3, 4), twoLevelAllGather(8, 4)} {
		if r := Check(p, Options{}); !r.OK() {
			t.Errorf("%s over %d ranks: %v", p.Collective.Name, p.Collective.Ranks, r.Err())
		}
	}
}
