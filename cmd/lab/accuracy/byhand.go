package accuracy

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// byHand are programs that no family compiles to: as MSCCL's compiler left them, threadblock
// by threadblock.
var byHand = map[string]func(ranks, instances int) *ir.Program{"msccl-all-pairs": mscclAllPairs}

// mscclAllPairs is MSCCL's two-phase all-pairs allreduce, in place. In each instance a
// threadblock for each peer sends, receives, sums a piece of its rank's part, sends that
// part when all of it is summed, and receives the peer's; one more sums piece 0 alone.
func mscclAllPairs(ranks, instances int) *ir.Program {
	pieces := ranks
	at := func(b collective.Buffer, part, instance, piece int) ir.Loc {
		return ir.Loc{Buf: b, Off: int32((part*instances+instance)*pieces + piece)}
	}
	p := &ir.Program{
		Name:       "msccl-all-pairs",
		Collective: collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks * instances * pieces, InPlace: true},
		GPUs:       make([]ir.GPU, ranks),
	}
	for rank := range p.GPUs {
		g := &p.GPUs[rank]
		g.Scratch = (ranks - 1) * instances * pieces
		for i := range instances {
			first := len(g.Threadblocks) // that without a peer; the k-th peer's comes k later
			for piece := range pieces {
				tb := ir.Threadblock{Send: -1, Recv: -1, Channel: i}
				all := int32(pieces)
				own, peer := at(collective.In, rank, i, 0), 0
				if piece > 0 {
					if peer = piece - 1; peer >= rank {
						peer++
					}
					tb.Send, tb.Recv = peer, peer
					tb.Steps = append(tb.Steps,
						ir.Step{Op: ir.Send, Count: all, Src: at(collective.In, peer, i, 0)},
						ir.Step{Op: ir.Recv, Count: all, Dst: at(collective.Scratch, piece-1, i, 0), HasDep: true})
				}
				for from := range ranks - 1 {
					sum := ir.Step{Op: ir.Reduce, Count: 1, Src: at(collective.Scratch, from, i, piece), Dst: at(collective.In, rank, i, piece)}
					for other := 1; from == 0 && other < ranks; other++ {
						if other != piece {
							sum.Deps = append(sum.Deps, ir.Dep{TB: int32(first + other), Step: 1})
						}
					}
					sum.HasDep = from == ranks-2
					tb.Steps = append(tb.Steps, sum)
				}
				if piece > 0 {
					send := ir.Step{Op: ir.Send, Count: all, Src: own}
					for other := range pieces {
						if other != piece {
							send.Deps = append(send.Deps, ir.Dep{TB: int32(first + other), Step: int32(lastSum(ranks, other))})
						}
					}
					tb.Steps = append(tb.Steps, send, ir.Step{Op: ir.Recv, Count: all, Dst: at(collective.In, peer, i, 0)})
				}
				g.Threadblocks = append(g.Threadblocks, tb)
			}
		}
	}
	return p
}

// lastSum is the step of a threadblock that ends its piece's sum.
func lastSum(ranks, piece int) int {
	if piece == 0 {
		return ranks - 2
	}
	return ranks
}
