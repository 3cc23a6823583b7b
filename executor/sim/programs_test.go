package sim

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// Programs built by hand, with the threadblocks that MSCCL's compiler gave the measured
// ones.

// builder collects threadblocks by rank and (peers, channel).
type builder struct {
	p *ir.Program
}

func build(name string, ranks, chunks int, inPlace bool) *builder {
	return &builder{&ir.Program{
		Collective: collective.Spec{Name: name, Ranks: ranks, Chunks: chunks, InPlace: inPlace},
		GPUs:       make([]ir.GPU, ranks),
	}}
}

// tb adds a threadblock and gives its steps a place to go.
func (b *builder) tb(rank, send, recv, channel int, ops ...ir.Op) int {
	g := &b.p.GPUs[rank]
	tb := ir.Threadblock{Send: send, Recv: recv, Channel: channel}
	for _, o := range ops {
		tb.Steps = append(tb.Steps, ir.Step{Op: o, Count: 1})
	}
	g.Threadblocks = append(g.Threadblocks, tb)
	return len(g.Threadblocks) - 1
}

// wait makes a step depend on a step of another threadblock.
func (b *builder) wait(rank, tb, step, onTB, onStep int) {
	g := &b.p.GPUs[rank]
	g.Threadblocks[onTB].Steps[onStep].HasDep = true
	s := &g.Threadblocks[tb].Steps[step]
	s.Deps = append(s.Deps, ir.Dep{TB: int32(onTB), Step: int32(onStep)})
}

// counts sets the count of every step.
func (b *builder) counts(n int32) *builder {
	for r := range b.p.GPUs {
		for t := range b.p.GPUs[r].Threadblocks {
			for s := range b.p.GPUs[r].Threadblocks[t].Steps {
				b.p.GPUs[r].Threadblocks[t].Steps[s].Count = n
			}
		}
	}
	return b
}

// ringAllGather is a logical ring spread over channels (chunk i on channel i
// mod channels), instances times. Unfused: every hop is a receive and a send.
func ringAllGather(n, channels, instances int, fuse bool) *ir.Program {
	b := build("allgather", n, instances, true)
	for r := range n {
		for inst := range instances {
			for ch := range channels {
				var ops []ir.Op
				for i := range n { // the chunk that has come i hops
					if (r-i+n)%n%channels != ch {
						continue
					}
					if i == 0 {
						ops = append(ops, ir.Send)
					} else if i == n-1 {
						ops = append(ops, ir.Recv)
					} else if fuse {
						ops = append(ops, ir.RecvCopySend)
					} else {
						ops = append(ops, ir.Recv, ir.Send)
					}
				}
				send, recv := -1, -1
				for _, o := range ops {
					if o.Sends() {
						send = (r + 1) % n
					}
					if o.Receives() {
						recv = (r + n - 1) % n
					}
				}
				b.tb(r, send, recv, inst*channels+ch, ops...)
			}
		}
	}
	return b.p
}

// allPairsAllGather sends every rank's chunk to every other, a threadblock for
// each peer and instance.
func allPairsAllGather(n, instances int) *ir.Program {
	b := build("allgather", n, instances, true)
	for r := range n {
		for peer := range n {
			for inst := range instances {
				if peer != r {
					b.tb(r, peer, peer, inst, ir.Send, ir.Recv)
				}
			}
		}
	}
	return b.p
}

// ringAllReduce is NCCL's ring: on each of its channels a ring of its own.
func ringAllReduce(ranks []int, instances int) *ir.Program {
	n := len(ranks)
	b := build("allreduce", n, n*instances, true)
	for i, r := range ranks {
		next, prev := ranks[(i+1)%n], ranks[(i+n-1)%n]
		for inst := range instances {
			ops := []ir.Op{ir.Send}
			for range n - 2 {
				ops = append(ops, ir.RecvReduceSend)
			}
			ops = append(ops, ir.RecvReduceCopySend)
			for range n - 2 {
				ops = append(ops, ir.RecvCopySend)
			}
			b.tb(r, next, prev, inst, append(ops, ir.Recv)...)
		}
	}
	return b.p
}

// allPairsAllReduce gathers into scratch, reduces and sends the result to all, as in
// GC3's section 7.1.2: a threadblock for each peer and instance.
func allPairsAllReduce(n, instances int) *ir.Program {
	b := build("allreduce", n, n*instances, true)
	for r := range n {
		for inst := range instances {
			var tbs []int
			for peer := range n {
				if peer != r {
					tbs = append(tbs, b.tb(r, peer, peer, inst, ir.Send, ir.Recv))
				}
			}
			// One of them reduces all of scratch into its own chunk.
			g := &b.p.GPUs[r]
			red := tbs[0]
			for i := range n - 1 {
				g.Threadblocks[red].Steps = append(g.Threadblocks[red].Steps, ir.Step{
					Op: ir.Reduce, Count: 1, Src: ir.Loc{Buf: collective.Scratch, Off: int32(i)}})
				if i == 0 {
					for _, t := range tbs[1:] {
						b.wait(r, red, 2, t, 1)
					}
				}
			}
			last := len(g.Threadblocks[red].Steps) - 1
			for _, t := range tbs {
				g.Threadblocks[t].Steps = append(g.Threadblocks[t].Steps,
					ir.Step{Op: ir.Send, Count: 1}, ir.Step{Op: ir.Recv, Count: 1})
				if t != red {
					b.wait(r, t, 2, red, last)
				}
			}
		}
	}
	return b.p
}

// directAllToAll sends each peer its chunk, a threadblock for each peer.
func directAllToAll(n int) *ir.Program {
	b := build("alltoall", n, 1, false)
	for r := range n {
		for peer := range n {
			if peer != r {
				b.tb(r, peer, peer, 0, ir.Send, ir.Recv)
			}
		}
		b.tb(r, -1, -1, 0, ir.Copy)
	}
	return b.p
}

// twoStepAllToAll collects what a node of 8 has for one GPU of another node at the GPU of
// the same local number, which sends it on as one message: threadblocks for each peer of
// the node and for each other node.
func twoStepAllToAll(nodes int) *ir.Program {
	const gpus = 8
	b := build("alltoall", nodes*gpus, 1, false)
	for r := range nodes * gpus {
		node, gpu := r/gpus, r%gpus
		var local []int
		for peer := range gpus {
			if peer == gpu {
				continue
			}
			to := node*gpus + peer
			tb := b.tb(r, to, to, 0)
			g := &b.p.GPUs[r].Threadblocks[tb]
			for range nodes {
				g.Steps = append(g.Steps, ir.Step{Op: ir.Send, Count: 1}, ir.Step{Op: ir.Recv, Count: 1})
			}
			local = append(local, tb)
		}
		for n := range nodes {
			if n == node {
				continue
			}
			to := n*gpus + gpu
			tb := b.tb(r, to, to, 0, ir.Send, ir.Recv)
			steps := b.p.GPUs[r].Threadblocks[tb].Steps
			steps[0].Count, steps[1].Count = gpus, gpus
			for _, from := range local {
				b.wait(r, tb, 0, from, 2*n+1)
			}
		}
	}
	return b.p
}

func order(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

var system = topotest.Resolve

// timeOf runs a program or fails.
func timeOf(t testing.TB, p *ir.Program, top *topologies.Topology, k Knobs) float64 {
	t.Helper()
	r, err := Run(p, top, k)
	if err != nil {
		t.Fatal(err)
	}
	return r.TimeUS
}
