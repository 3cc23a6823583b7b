package irtest

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Ring returns allreduce round a ring, with a channel and a threadblock of each
// rank for every instance. It does not use its chunks of scratch: they only
// make programs differ. An out-of-place one also writes to its input, so it is
// not correct.
func Ring(ranks, instances, scratch int, inPlace bool) *ir.Program {
	p := &ir.Program{Name: "ring", Collective: collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks * instances, InPlace: inPlace}}
	for r := range ranks {
		g := ir.GPU{Scratch: scratch}
		for i := range instances {
			g.Threadblocks = append(g.Threadblocks, ir.Threadblock{
				Send: (r + 1) % ranks, Recv: (r + ranks - 1) % ranks, Channel: i,
				Steps: ringSteps(r, ranks, instances, i),
			})
		}
		p.GPUs = append(p.GPUs, g)
	}
	return p
}

// ringSteps returns the steps of rank r in one instance: every chunk goes round
// once to be reduced, and once more to distribute the result.
func ringSteps(r, ranks, instances, instance int) []ir.Step {
	// The k-th message that r handles is of the chunk that began at rank r-k.
	chunk := func(k int) ir.Loc {
		return ir.Loc{Buf: collective.In, Off: int32(((r-k)%ranks+ranks)%ranks*instances + instance)}
	}
	steps := []ir.Step{{Op: ir.Send, Count: 1, Src: chunk(0)}}
	for k := 1; k < ranks; k++ {
		steps = append(steps, ir.Step{Op: ir.RecvReduceCopySend, Count: 1, Src: chunk(k), Dst: chunk(k)})
	}
	for k := ranks; k < 2*ranks-2; k++ {
		steps = append(steps, ir.Step{Op: ir.RecvCopySend, Count: 1, Dst: chunk(k)})
	}
	return append(steps, ir.Step{Op: ir.Recv, Count: 1, Dst: chunk(2*ranks - 2)})
}
