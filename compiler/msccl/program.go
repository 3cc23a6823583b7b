package msccl

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Program returns the file's program as IR, for in-place or out-of-place calls.
// Nops before a step become dependencies of that step; a nop that another step
// refers to, or that is last, stays. A nop's own flag is dropped, since no
// runtime posts it. Places in in-place calls are those of collective.Place.
// known is false if the file does not identify the collective; the program's
// Spec then only gives the sizes of its buffers.
//
// An error says that nchunksperloop and ngpus do not make a collective, or that
// there is no such placement.
func (f *File) Program(inPlace bool) (p *ir.Program, known bool, err error) {
	spec, known, err := f.Spec(inPlace)
	if err != nil {
		return nil, known, err
	}
	col, err := collective.New(spec)
	if err != nil {
		return nil, known, err
	}
	p = &ir.Program{Name: f.Name, Collective: spec, GPUs: make([]ir.GPU, len(f.GPUs))}
	for g := range f.GPUs {
		p.GPUs[g] = f.GPUs[g].program(g, col)
	}
	return p, known, nil
}

func (g *GPU) program(rank int, col collective.Collective) ir.GPU {
	at, kept := g.foldNops()
	out := ir.GPU{Scratch: g.Scratch, Threadblocks: make([]ir.Threadblock, len(g.Threadblocks))}
	for t := range g.Threadblocks {
		tb := &g.Threadblocks[t]
		steps := make([]ir.Step, 0, kept[t])
		var pending []ir.Dep
		for i := range tb.Steps {
			s := &tb.Steps[i]
			if s.DepID >= 0 {
				pending = append(pending, g.dep(at, s))
			}
			if at[t][i] < 0 {
				continue // merged into the next step
			}
			step := ir.Step{Op: s.Op, HasDep: s.HasDep && s.Op != ir.Nop}
			if s.Op != ir.Nop {
				step.Count = s.Count
			}
			if s.Op.ReadsSrc() {
				step.Src = place(col, rank, s.SrcBuf, s.SrcOff)
			}
			if s.Op.WritesDst() {
				step.Dst = place(col, rank, s.DstBuf, s.DstOff)
			}
			if len(pending) > 0 {
				step.Deps, pending = pending, nil
			}
			steps = append(steps, step)
		}
		out.Threadblocks[t] = ir.Threadblock{Send: tb.Send, Recv: tb.Recv, Channel: tb.Chan, Steps: steps}
	}
	return out
}

// foldNops returns each step's new index, which is -1 for a nop that is merged
// into the step after it, and the number of steps that each threadblock keeps.
func (g *GPU) foldNops() (at [][]int32, kept []int32) {
	named := make([]map[int32]bool, len(g.Threadblocks))
	for t := range g.Threadblocks {
		for i := range g.Threadblocks[t].Steps {
			s := &g.Threadblocks[t].Steps[i]
			if !g.exists(s) || g.Threadblocks[s.DepID].Steps[s.Deps].Op != ir.Nop {
				continue
			}
			if named[s.DepID] == nil {
				named[s.DepID] = map[int32]bool{}
			}
			named[s.DepID][s.Deps] = true
		}
	}
	at, kept = make([][]int32, len(g.Threadblocks)), make([]int32, len(g.Threadblocks))
	for t := range g.Threadblocks {
		steps := g.Threadblocks[t].Steps
		at[t] = make([]int32, len(steps))
		last := len(steps)
		for last > 0 && steps[last-1].Op == ir.Nop {
			last--
		}
		for i := range steps {
			if steps[i].Op == ir.Nop && i < last && !named[t][int32(i)] {
				at[t][i] = -1
				continue
			}
			at[t][i] = kept[t]
			kept[t]++
		}
	}
	return at, kept
}

func (g *GPU) exists(s *Step) bool {
	return s.DepID >= 0 && int(s.DepID) < len(g.Threadblocks) && s.Deps >= 0 && int(s.Deps) < len(g.Threadblocks[s.DepID].Steps)
}

// dep returns the dependency of a step, with new indices. One that does not
// exist is returned unchanged, for the verifier to report.
func (g *GPU) dep(at [][]int32, s *Step) ir.Dep {
	if !g.exists(s) {
		return ir.Dep{TB: s.DepID, Step: max(s.Deps, -1)}
	}
	return ir.Dep{TB: s.DepID, Step: at[s.DepID][s.Deps]}
}

// place returns the canonical place of a chunk; one outside its buffer stays
// outside.
func place(col collective.Collective, rank int, b collective.Buffer, off int32) ir.Loc {
	if b == collective.Scratch || off < 0 {
		return ir.Loc{Buf: b, Off: off}
	}
	buf, index := col.Place(rank, b, int(off))
	return ir.Loc{Buf: buf, Off: int32(min(index, 1<<31-1))}
}
