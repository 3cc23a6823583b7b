package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// run is a sequence of steps that a threadblock executes as one: a single step, or several
// reductions of one chunk each into the same chunk. One by one, each of these would wait
// for memory twice, and write a value that the next reads again.
type run struct {
	first, steps int
	apart        int64 // bytes from one source to the next
}

// runs divides a threadblock's steps into runs.
func (p *plan) runs(rank int, steps []ir.Step) []run {
	all := make([]run, 0, len(steps))
	for i := 0; i < len(steps); {
		r := p.reductions(rank, steps, i)
		all = append(all, r)
		i += r.steps
	}
	return all
}

// reductions returns the longest run that begins with a step. No other threadblock may
// observe its intermediate states: no step but the first waits, and none but the last has
// waiters. The sources must be evenly spaced, and differ from the destination.
func (p *plan) reductions(rank int, steps []ir.Step, first int) run {
	r := run{first: first, steps: 1}
	s := &steps[first]
	if s.Op != ir.Reduce || s.Count != 1 || !p.even(s.Src.Buf) || s.Src.Buf == s.Dst.Buf && s.Src.Off == s.Dst.Off {
		return r
	}
	apart := func(next *ir.Step) int64 {
		return int64(p.chunk(0, rank, next.Src.Buf, int(next.Src.Off)).Address - p.chunk(0, rank, s.Src.Buf, int(s.Src.Off)).Address)
	}
	for i := first + 1; i < len(steps) && !steps[i-1].HasDep; i++ {
		next := &steps[i]
		if next.Op != ir.Reduce || next.Count != 1 || len(next.Deps) > 0 || next.Dst.Buf != s.Dst.Buf || next.Dst.Off != s.Dst.Off ||
			next.Src.Buf != s.Src.Buf || next.Src.Buf == s.Dst.Buf && next.Src.Off == s.Dst.Off {
			break
		}
		if r.steps == 1 {
			r.apart = apart(next)
		}
		if apart(next) != r.apart*int64(r.steps) || r.apart == 0 {
			break
		}
		r.steps++
	}
	if r.steps == 1 {
		r.apart = 0
	}
	return r
}

// even reports whether all of a buffer's chunks have one size.
func (p *plan) even(b collective.Buffer) bool {
	return b == collective.Scratch || p.reference.Layout.Even()
}
