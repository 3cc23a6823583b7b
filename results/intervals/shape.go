package intervals

import "github.com/colltune/colltune/compiler/ir"

// UpAndDown reports whether the sums of an all-reduce and its results go different ways, as up and
// down a tree: no threadblock that reduces what it receives also receives what it does not reduce.
// In a ring both come from the same neighbour. Programs of other collectives have one of the two.
func UpAndDown(p *ir.Program) bool {
	if p.Collective.Name != "allreduce" {
		return false
	}
	reduces := false
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			sums, results := false, false
			for _, s := range tb.Steps {
				if s.Op.Receives() {
					sums, results = sums || s.Op.Reduces(), results || !s.Op.Reduces()
				}
			}
			if sums && results {
				return false
			}
			reduces = reduces || sums
		}
	}
	return reduces
}
