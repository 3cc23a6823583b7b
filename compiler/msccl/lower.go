package msccl

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// WriteOptions are the calls that a file is written for.
type WriteOptions struct {
	Runtime  string // one of Runtimes
	Protocol string // one of ir.Protocols
	// MinBytes and MaxBytes are the sizes to serve, both included, as nccl-tests
	// prints them. MaxBytes 0 means no limit.
	MinBytes, MaxBytes int64
	// InPlace and OutOfPlace are the placements to serve; if neither is set, the
	// program's own. An out-of-place program may be written for both if it is
	// correct for both, which the caller has verified.
	InPlace, OutOfPlace bool
	Name                string   // empty: the program's own
	Comments            []string // lines before algo
}

// Lower converts a program to a file. It returns an error for a program that
// the format cannot represent. Whether a runtime would accept the file is a
// separate question: see Accepts.
func Lower(p *ir.Program, o WriteOptions) (*File, error) {
	rt, err := Lookup(o.Runtime)
	if err != nil {
		return nil, err
	}
	f, err := lowerSteps(p)
	if err != nil {
		return nil, err
	}
	f.Name, f.Proto, f.Comments = cmp.Or(o.Name, p.Name), o.Protocol, o.Comments
	if err := f.header(p, rt, o); err != nil {
		return nil, err
	}
	return f, nil
}

// lowerSteps converts what is the same for all runtimes and calls.
func lowerSteps(p *ir.Program) (*File, error) {
	col, err := collective.New(p.Collective)
	if err != nil {
		return nil, err
	}
	if p, err = ir.Contiguous(p); err != nil {
		return nil, err // the format has no strides
	}
	f := &File{NGPUs: len(p.GPUs), NChannels: max(1, p.Channels()), NChunksPerLoop: col.LoopChunks(), Root: p.Collective.Root}
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		f.GPUs = append(f.GPUs, GPU{In: col.BufferChunks(g, collective.In), Out: col.BufferChunks(g, collective.Out), Scratch: gpu.Scratch})
		if err := f.lower(g, gpu); err != nil {
			return nil, err
		}
	}
	f.remotePlaces(p)
	return f, nil
}

// header fills in the attributes in which the dialects differ.
func (f *File) header(p *ir.Program, rt *Runtime, o WriteOptions) error {
	spec := p.Collective
	name, ok := rt.collective(spec)
	if !ok {
		return fmt.Errorf("%s has no collective %s", rt.Name, spec.Name)
	}
	f.Coll = name
	if name == "custom" {
		f.Collective = spec.Name
	}
	if Slots(o.Protocol) == 0 {
		return fmt.Errorf("unknown protocol %q: want LL, LL128 or Simple", o.Protocol)
	}
	in, out := o.InPlace, o.OutOfPlace
	if !in && !out {
		in, out = spec.InPlace, !spec.InPlace
	}
	switch {
	case out && spec.InPlace:
		return fmt.Errorf("%s compiled in place can't be written for out-of-place calls", spec.Name)
	case in && out && rt.OnePlacement:
		return fmt.Errorf("a file for %s serves one placement, not both", rt.Name)
	}
	f.InPlace = flag(in)
	if !rt.OnePlacement {
		f.OutOfPlace = flag(out)
	}
	s := span{o.MinBytes, o.MaxBytes}
	if s.max == 0 {
		s.max = unlimited
	}
	switch {
	case s.min < 0 || s.min > s.max:
		return fmt.Errorf("sizes from %d to %d bytes: want 0 ≤ least ≤ most", s.min, s.max)
	case s.max == unlimited && rt.MaxExclusive && slices.ContainsFunc(p.GPUs, func(g ir.GPU) bool { return g.Scratch > 0 }):
		return fmt.Errorf("%s sets scratch aside for the largest size: want one", rt.Name)
	}
	lo, hi := rt.attributes(s, spec.Name, spec.Ranks)
	f.MinBytes, f.MaxBytes = &lo, &hi
	return nil
}

func flag(b bool) *int64 {
	n := int64(0)
	if b {
		n = 1
	}
	return &n
}

// lower converts the steps of one GPU. A step that waits for several others
// keeps its last dependency, and each other one goes into a nop before it.
// Readers refuse a nop whose next step has no dependency, so a nop's wait in
// the program moves to the step after it. A wait after the last effective step
// orders nothing and is dropped.
func (f *File) lower(g int, gpu *ir.GPU) error {
	at := make([][]int32, len(gpu.Threadblocks)) // new index of each step; -1 for a nop
	for t := range gpu.Threadblocks {
		steps := gpu.Threadblocks[t].Steps
		at[t] = make([]int32, len(steps))
		n, pending := int32(0), 0
		for i := range steps {
			pending += len(steps[i].Deps)
			if steps[i].Op == ir.Nop {
				at[t][i] = -1
				continue
			}
			n += int32(max(0, pending-1))
			at[t][i] = n
			n++
			pending = 0
		}
	}
	for t := range gpu.Threadblocks {
		tb := &gpu.Threadblocks[t]
		out := Threadblock{Send: tb.Send, Recv: tb.Recv, Chan: tb.Channel, Steps: make([]Step, 0, len(tb.Steps))}
		var pending []ir.Dep
		for i := range tb.Steps {
			s := &tb.Steps[i]
			pending = append(pending, s.Deps...)
			if s.Op == ir.Nop {
				if s.HasDep {
					return fmt.Errorf("gpu %d threadblock %d step %d: a nop that others wait for can't be written", g, t, i)
				}
				continue
			}
			step := Step{Op: s.Op, HasDep: s.HasDep, SrcBuf: s.Src.Buf, SrcOff: s.Src.Off,
				DstBuf: s.Dst.Buf, DstOff: s.Dst.Off, Count: s.Count, DepID: -1, Deps: -1}
			for d, dep := range pending {
				if dep.TB < 0 || int(dep.TB) >= len(at) || dep.Step < 0 || int(dep.Step) >= len(at[dep.TB]) {
					return fmt.Errorf("gpu %d threadblock %d step %d waits for step %d of threadblock %d, which does not exist", g, t, i, dep.Step, dep.TB)
				}
				to := at[dep.TB][dep.Step]
				if to < 0 {
					return fmt.Errorf("gpu %d threadblock %d step %d waits for a nop, which can't be written", g, t, i)
				}
				if d == len(pending)-1 {
					step.DepID, step.Deps = dep.TB, to
					break
				}
				out.Steps = append(out.Steps, Step{Op: ir.Nop, S: int32(len(out.Steps)), SrcBuf: collective.In, SrcOff: -1,
					DstBuf: collective.Out, DstOff: -1, DepID: dep.TB, Deps: to})
			}
			pending = pending[:0]
			step.S = int32(len(out.Steps))
			out.keepApart(&step)
			out.Steps = append(out.Steps, step)
		}
		f.GPUs[g].Threadblocks = append(f.GPUs[g].Threadblocks, out)
	}
	return nil
}

// keepApart stops readers from merging two reductions with different counts into
// one, which they do by looking at the places only. A flag ends such a run, and is
// harmless if nothing waits for it.
func (tb *Threadblock) keepApart(s *Step) {
	if n := len(tb.Steps); n > 0 && tb.Steps[n-1].mergesWith(s) && tb.Steps[n-1].Count != s.Count {
		tb.Steps[n-1].HasDep = true
	}
}

// mergesWith reports whether readers would merge s and next into one reduction.
func (s *Step) mergesWith(next *Step) bool {
	return s.Op == ir.Reduce && next.Op == ir.Reduce && !s.HasDep && next.DepID < 0 &&
		s.DstBuf == next.DstBuf && s.DstOff == next.DstOff && s.SrcBuf == next.SrcBuf
}

// remotePlaces sets, by convention, the place of a message on the other GPU,
// which no runtime uses. A receiving step without a place of its own to read
// names the place that the sender reads; a sending step, the place that the
// receiver writes.
func (f *File) remotePlaces(p *ir.Program) {
	type end struct{ from, to, channel int }
	sent := map[end][]*Step{}
	for g := range f.GPUs {
		for t := range f.GPUs[g].Threadblocks {
			tb := &f.GPUs[g].Threadblocks[t]
			for i := range tb.Steps {
				s := &tb.Steps[i]
				if s.Op == ir.Nop {
					continue
				}
				// If the other end is missing, the step's own place stands in for
				// its.
				if !s.Op.ReadsSrc() {
					s.SrcBuf, s.SrcOff = s.DstBuf, s.DstOff
				}
				if !s.Op.WritesDst() {
					s.DstBuf, s.DstOff = s.SrcBuf, s.SrcOff
				}
				if s.Op.Sends() {
					k := end{g, tb.Send, tb.Chan}
					sent[k] = append(sent[k], s)
				}
			}
		}
	}
	for g := range f.GPUs {
		for t := range f.GPUs[g].Threadblocks {
			tb := &f.GPUs[g].Threadblocks[t]
			k := end{tb.Recv, g, tb.Chan}
			queue := sent[k]
			n := 0
			for i := range tb.Steps {
				to := &tb.Steps[i]
				if !to.Op.Receives() || n == len(queue) {
					continue
				}
				from := queue[n]
				n++
				if !to.Op.ReadsSrc() {
					to.SrcBuf, to.SrcOff = from.sentFrom()
				}
				if !from.Op.WritesDst() {
					from.DstBuf, from.DstOff = to.storedAt()
				}
			}
		}
	}
}

// sentFrom returns the place from which the sender of a message reads it.
func (s *Step) sentFrom() (collective.Buffer, int32) {
	if s.Op.ReadsSrc() {
		return s.SrcBuf, s.SrcOff
	}
	return s.DstBuf, s.DstOff
}

// storedAt returns the place where the receiver of a message stores it, or the
// operand it is added to.
func (s *Step) storedAt() (collective.Buffer, int32) {
	if s.Op.WritesDst() {
		return s.DstBuf, s.DstOff
	}
	return s.SrcBuf, s.SrcOff
}
