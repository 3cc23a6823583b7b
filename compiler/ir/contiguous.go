package ir

import (
	"cmp"
	"fmt"
	"slices"
)

// maxSplitSteps bounds the steps that splitting may make.
const maxSplitSteps = 1 << 24

// Contiguous returns the program for runtimes without strides: p itself if none
// of its steps is strided. A strided step is split into one for each of its
// chunks, and so is the step at the other end of its message, and so on along a
// chain of fused steps:
//
//	tb 0  0 s   in[0:5:2]      →    tb 0  0 s in[0]   1 s in[2]   2 s in[4]
//	tb 1  0 r   sc[0:3]        →    tb 1  0 r sc[0]   1 r sc[1]   2 r sc[2]
//
// The first part has the step's dependencies, and steps that waited for the
// step wait for the last part. Each part is one primitive call, so slots that
// suffice for one call a chunk suffice here.
//
// An incorrect program stays incorrect: sends and receives without a
// counterpart are split by themselves. It returns an error beyond 16 million
// steps.
func Contiguous(p *Program) (*Program, error) {
	c := newContiguity(p)
	if !c.any {
		return p, nil
	}
	steps := int64(0)
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			for i := range p.GPUs[g].Threadblocks[t].Steps {
				steps += int64(c.pieces(g, t, i))
			}
		}
	}
	if steps > maxSplitSteps {
		return nil, fmt.Errorf("%d steps once none has chunks that lie apart: want at most %d", steps, maxSplitSteps)
	}
	q := *p
	q.GPUs = make([]GPU, len(p.GPUs))
	for g := range p.GPUs {
		q.GPUs[g] = c.gpu(g)
	}
	return &q, nil
}

// splitter is the state of Contiguous.
type splitter struct {
	p     *Program
	split [][][]bool // by GPU, threadblock and step
	any   bool
	sends map[connection][]stepID // the sends of a connection, in order
	recvs map[connection][]stepID
}

type connection struct{ from, to, channel int }

type stepID struct{ gpu, tb, step int }

func newContiguity(p *Program) *splitter {
	c := &splitter{p: p, split: make([][][]bool, len(p.GPUs))}
	var found []stepID
	for g := range p.GPUs {
		c.split[g] = make([][]bool, len(p.GPUs[g].Threadblocks))
		for t := range p.GPUs[g].Threadblocks {
			steps := p.GPUs[g].Threadblocks[t].Steps
			for i := range steps {
				if !steps[i].Contiguous() {
					found = append(found, stepID{g, t, i})
				}
			}
		}
	}
	if c.any = len(found) > 0; !c.any {
		return c
	}
	c.connect()
	for len(found) > 0 {
		at := found[len(found)-1]
		found = append(found[:len(found)-1], c.mark(at)...)
	}
	return c
}

// Contiguous reports whether the step reads and writes contiguous chunks only.
func (s *Step) Contiguous() bool {
	return (!s.Op.ReadsSrc() || s.Src.Contiguous(s.Count)) && (!s.Op.WritesDst() || s.Dst.Contiguous(s.Count))
}

// connect lists the sends and receives of every connection.
func (c *splitter) connect() {
	c.sends, c.recvs = map[connection][]stepID{}, map[connection][]stepID{}
	for g := range c.p.GPUs {
		for t := range c.p.GPUs[g].Threadblocks {
			tb := &c.p.GPUs[g].Threadblocks[t]
			c.split[g][t] = make([]bool, len(tb.Steps))
			to, from := connection{g, tb.Send, tb.Channel}, connection{tb.Recv, g, tb.Channel}
			for i := range tb.Steps {
				if tb.Steps[i].Op.Sends() {
					c.sends[to] = append(c.sends[to], stepID{g, t, i})
				}
				if tb.Steps[i].Op.Receives() {
					c.recvs[from] = append(c.recvs[from], stepID{g, t, i})
				}
			}
		}
	}
}

// mark marks a step to be split, and returns the steps that must then be split
// too.
func (c *splitter) mark(at stepID) (others []stepID) {
	done := &c.split[at.gpu][at.tb][at.step]
	if *done {
		return nil
	}
	*done = true
	tb := &c.p.GPUs[at.gpu].Threadblocks[at.tb]
	s := &tb.Steps[at.step]
	if s.Op.Sends() {
		others = append(others, c.peerSteps(connection{at.gpu, tb.Send, tb.Channel}, at, c.sends, c.recvs)...)
	}
	if s.Op.Receives() {
		others = append(others, c.peerSteps(connection{tb.Recv, at.gpu, tb.Channel}, at, c.recvs, c.sends)...)
	}
	return others
}

// peerSteps returns the step at the same position of the other end of a
// connection.
func (c *splitter) peerSteps(q connection, at stepID, side, other map[connection][]stepID) []stepID {
	n, found := slices.BinarySearchFunc(side[q], at, func(a, b stepID) int {
		return cmp.Or(cmp.Compare(a.tb, b.tb), cmp.Compare(a.step, b.step))
	})
	if !found || n >= len(other[q]) {
		return nil
	}
	return other[q][n : n+1]
}

// pieces returns the number of parts of a step.
func (c *splitter) pieces(g, t, i int) int32 {
	if !c.split[g][t][i] {
		return 1
	}
	return max(1, c.p.GPUs[g].Threadblocks[t].Steps[i].Count)
}

// gpu returns the program of one rank.
func (c *splitter) gpu(g int) GPU {
	old := &c.p.GPUs[g]
	last := make([][]int32, len(old.Threadblocks)) // new index of each step's last part
	for t := range old.Threadblocks {
		n := int32(0)
		for i := range old.Threadblocks[t].Steps {
			n += c.pieces(g, t, i)
			last[t] = append(last[t], n-1)
		}
	}
	gpu := GPU{Scratch: old.Scratch, Threadblocks: make([]Threadblock, len(old.Threadblocks))}
	for t := range old.Threadblocks {
		tb := old.Threadblocks[t]
		steps := make([]Step, 0, len(tb.Steps))
		for i := range tb.Steps {
			whole := tb.Steps[i]
			whole.Deps = slices.Clone(whole.Deps)
			for d := range whole.Deps {
				if on := &whole.Deps[d]; on.TB >= 0 && int(on.TB) < len(last) && on.Step >= 0 && int(on.Step) < len(last[on.TB]) {
					on.Step = last[on.TB][on.Step]
				}
			}
			if !c.split[g][t][i] || whole.Count <= 1 {
				steps = append(steps, whole)
				continue
			}
			for k := range whole.Count {
				steps = append(steps, whole.piece(k))
			}
		}
		tb.Steps = steps
		gpu.Threadblocks[t] = tb
	}
	return gpu
}

// piece returns the step for its chunk k alone.
func (s *Step) piece(k int32) Step {
	p := *s
	p.Count = 1
	if p.Op.ReadsSrc() {
		p.Src = Loc{Buf: p.Src.Buf, Off: p.Src.At(k)}
	}
	if p.Op.WritesDst() {
		p.Dst = Loc{Buf: p.Dst.Buf, Off: p.Dst.At(k)}
	}
	if k > 0 {
		p.Deps = nil
	}
	p.HasDep = s.HasDep && k == s.Count-1
	return p
}
