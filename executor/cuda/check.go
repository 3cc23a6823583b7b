package cuda

import (
	"fmt"

	"github.com/colltune/colltune/compiler/ir"
)

// maxDependencies is the most of a step.
const maxDependencies = 1<<16 - 1

// checkSteps returns an error for steps that would access memory outside a table or a
// buffer, whether or not the program has been verified.
func (p *plan) checkSteps() error {
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			for i := range tb.Steps {
				if err := p.checkStep(r, id, &tb.Steps[i]); err != nil {
					return fmt.Errorf("rank %d threadblock %d step %d: %w", r, id, i, err)
				}
			}
		}
	}
	return nil
}

func (p *plan) checkStep(rank, threadblock int, s *ir.Step) error {
	if int(s.Op) >= len(ir.Ops()) {
		return fmt.Errorf("instruction %d does not exist", s.Op)
	}
	if s.Op != ir.Nop && s.Count < 1 {
		return fmt.Errorf("%s of %d chunks: want at least 1", s.Op, s.Count)
	}
	for _, side := range []struct {
		used bool
		loc  ir.Loc
	}{{s.Op.ReadsSrc(), s.Src}, {s.Op.WritesDst(), s.Dst}} {
		if !side.used {
			continue
		}
		chunks := p.ranks[rank].chunks
		switch l := side.loc; {
		case int(l.Buf) >= len(chunks):
			return fmt.Errorf("%s: buffer %d does not exist", s.Op, l.Buf)
		case l.Off < 0 || l.Stride < 0 || l.End(s.Count) > int64(chunks[l.Buf]):
			return fmt.Errorf("%s: %d chunks from %d of %s, which has %d", s.Op, s.Count, l.Off, l.Buf, chunks[l.Buf])
		}
	}
	if len(s.Deps) > maxDependencies {
		return fmt.Errorf("%d dependencies: want at most %d", len(s.Deps), maxDependencies)
	}
	all := p.program.GPUs[rank].Threadblocks
	for _, d := range s.Deps {
		if d.TB < 0 || int(d.TB) >= len(all) || int(d.TB) == threadblock || d.Step < 0 || int(d.Step) >= len(all[d.TB].Steps) {
			return fmt.Errorf("waits for step %d of threadblock %d, which does not exist", d.Step, d.TB)
		}
	}
	return nil
}
