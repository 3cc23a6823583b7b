package compiler

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/ir"
)

// emit writes the IR: the threadblocks of each rank, waits as pairs
// (threadblock, step), and a mark on each step that is waited for. Scratch ends
// with the last chunk that any step accesses. That can be earlier than in the
// program, since sums that are sent without being stored need no scratch.
func emit(prog *program) error {
	steps := make([]ir.Step, len(prog.seq))
	p := &ir.Program{
		Name:       prog.in.Name,
		Protocol:   prog.in.Protocol,
		Collective: prog.col.Spec,
		GPUs:       make([]ir.GPU, prog.col.Ranks),
	}
	if n := prog.instances / prog.scopeInstances; n > 1 {
		p.Comment = fmt.Sprintf("%d instances", n)
	}
	blocks := make([]ir.Threadblock, len(prog.tbs))
	for r := range p.GPUs {
		p.GPUs[r] = ir.GPU{
			Threadblocks: blocks[prog.gpuTBs[r]:prog.gpuTBs[r+1]:prog.gpuTBs[r+1]],
		}
	}
	for t := range prog.tbs {
		tb := &prog.tbs[t]
		n := len(tb.steps)
		b := ir.Threadblock{Send: none, Recv: none, Channel: int(tb.channel), Steps: steps[:n:n]}
		steps = steps[n:]
		if tb.put != none {
			b.Send = int(prog.conns[tb.put].to)
		}
		if tb.get != none {
			b.Recv = int(prog.conns[tb.get].from)
		}
		blocks[t] = b
	}
	container.Ranges(prog.col.Ranks, len(prog.seq), func(from, to int) {
		prog.emitSteps(p.GPUs, blocks, prog.gpuTBs[from], prog.gpuTBs[to])
	})
	prog.out = p
	return nil
}

// depBlock is the number of waits to allocate at a time.
const depBlock = 1 << 12

// emitSteps writes the steps of the threadblocks of consecutive ranks.
func (prog *program) emitSteps(gpus []ir.GPU, blocks []ir.Threadblock, from, to int32) {
	var deps []ir.Dep
	touch := func(rank int32, c chunks) ir.Loc {
		if c.buf == collective.Scratch {
			gpus[rank].Scratch = max(gpus[rank].Scratch, int(c.end()))
		}
		return c.loc()
	}
	for t := from; t < to; t++ {
		tb := &prog.tbs[t]
		for s, i := range tb.steps {
			in := &prog.ins[i]
			step := &blocks[t].Steps[s]
			step.Op, step.Count = in.op, in.count
			if in.op.ReadsSrc() {
				step.Src = touch(tb.rank, in.src())
			}
			if in.op.WritesDst() {
				step.Dst = touch(tb.rank, in.dst())
			}
			waits := prog.waits.row(i)
			if len(waits) == 0 {
				continue
			}
			if len(deps) < len(waits) {
				deps = make([]ir.Dep, max(min(depBlock, len(prog.waits.list)), len(waits)))
			}
			step.Deps, deps = deps[:len(waits):len(waits)], deps[len(waits):]
			for d, w := range waits {
				step.Deps[d] = ir.Dep{TB: prog.tbOf[w] - prog.gpuTBs[tb.rank], Step: prog.posOf[w]}
				blocks[prog.tbOf[w]].Steps[prog.posOf[w]].HasDep = true
			}
			slices.SortFunc(step.Deps, func(a, b ir.Dep) int { return cmp.Compare(a.TB, b.TB) })
		}
	}
}
