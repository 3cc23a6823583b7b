package verify

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// structure checks without execution that every number is within its range.
// Later stages use these numbers as indices.
func (c *checker) structure() {
	if !c.sizes() || !c.layOut() {
		return
	}
	for g := range c.p.GPUs {
		for t := range c.p.GPUs[g].Threadblocks {
			c.threadblock(g, t)
		}
	}
	if c.r.OK() && c.moved > maxMoved {
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d chunks moved: at most %d are verified", c.moved, int64(maxMoved))
	}
}

// sizes checks the collective and the number of GPUs.
func (c *checker) sizes() bool {
	col, err := collective.New(c.p.Collective)
	switch {
	case err != nil:
		c.r.findingAt(Malformed, Error, -1, -1, -1, "%v", err)
	case len(c.p.GPUs) != c.p.Collective.Ranks:
		c.r.findingAt(Malformed, Error, -1, -1, -1, "%d GPUs for a collective over %d ranks", len(c.p.GPUs), c.p.Collective.Ranks)
	case len(c.p.GPUs) > maxRanks:
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d ranks: at most %d are verified", len(c.p.GPUs), maxRanks)
	default:
		c.col = col
		return true
	}
	return false
}

// layOut numbers threadblocks and steps.
func (c *checker) layOut() bool {
	tbs := 0
	for g := range c.p.GPUs {
		tbs += len(c.p.GPUs[g].Threadblocks)
	}
	if tbs > maxThreadblocks {
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d threadblocks: at most %d are verified", tbs, maxThreadblocks)
		return false
	}
	if c.r.Steps > maxSteps {
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d steps: at most %d are verified", c.r.Steps, maxSteps)
		return false
	}
	if !c.extent() {
		return false
	}
	c.firstTB = make([]int32, 0, len(c.p.GPUs)+1)
	c.tbGPU = make([]int32, 0, tbs)
	c.first = make([]int32, 0, tbs+1)
	c.stepTB = make([]int32, c.r.Steps)
	c.flagged = make([]int32, c.r.Steps)
	n := int32(0)
	for g := range c.p.GPUs {
		c.firstTB = append(c.firstTB, int32(len(c.tbGPU)))
		for t := range c.p.GPUs[g].Threadblocks {
			steps := c.p.GPUs[g].Threadblocks[t].Steps
			id := int32(len(c.tbGPU))
			c.tbGPU = append(c.tbGPU, int32(g))
			c.first = append(c.first, n)
			next := int32(-1)
			for i := len(steps) - 1; i >= 0; i-- {
				if steps[i].HasDep {
					next = n + int32(i)
				}
				c.flagged[n+int32(i)] = next
				c.stepTB[n+int32(i)] = id
			}
			n += int32(len(steps))
		}
	}
	c.firstTB = append(c.firstTB, int32(len(c.tbGPU)))
	c.first = append(c.first, n)
	return true
}

// extent bounds the memory and the time that executing the program takes.
func (c *checker) extent() bool {
	// The sizes of buffers are products of two or three of these numbers; each is
	// bounded first, so that none overflows.
	if c.p.Collective.Chunks > maxPlaces/len(c.p.GPUs) {
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d chunks over %d ranks: at most %d chunks are verified", c.p.Collective.Chunks, len(c.p.GPUs), maxPlaces)
		return false
	}
	places := 0
	for g := range c.p.GPUs {
		gpu := &c.p.GPUs[g]
		if gpu.Scratch < 0 {
			c.r.findingAt(Malformed, Error, g, -1, -1, "%d chunks of scratch", gpu.Scratch)
			return false
		}
		places += c.col.BufferChunks(g, collective.In) + c.col.BufferChunks(g, collective.Out) + min(gpu.Scratch, maxPlaces)
		if places > maxPlaces {
			c.r.findingAt(Limit, Error, -1, -1, -1, "more than %d chunks in all buffers: no more are verified", maxPlaces)
			return false
		}
		for t := range gpu.Threadblocks {
			for i := range gpu.Threadblocks[t].Steps {
				c.moved += int64(min(max(gpu.Threadblocks[t].Steps[i].Count, 0), maxPlaces))
			}
		}
	}
	// A correct program accesses most of its chunks. So a file of a few lines that
	// claims to have millions of chunks is refused, to save their memory.
	if int64(places) > 8*c.moved+maxIdle {
		c.r.findingAt(Limit, Error, -1, -1, -1, "%d chunks in all buffers, of which at most %d are ever moved", places, c.moved)
		return false
	}
	return true
}

func (c *checker) threadblock(g, t int) {
	tb := &c.p.GPUs[g].Threadblocks[t]
	if tb.Channel < 0 {
		c.r.findingAt(Malformed, Error, g, t, -1, "channel %d: want 0 or more", tb.Channel)
	}
	c.peer(g, t, tb.Send, "sends to", g, tb.Send)
	c.peer(g, t, tb.Recv, "receives from", tb.Recv, g)
	for i := range tb.Steps {
		c.checkStep(g, t, i, tb)
	}
}

// peer checks one end of a connection, which carries chunks from → to.
func (c *checker) peer(g, t, peer int, verb string, from, to int) {
	switch {
	case peer == -1:
	case peer < 0 || peer >= len(c.p.GPUs):
		c.r.findingAt(Malformed, Error, g, t, -1, "%s rank %d: want 0 to %d, or -1 for none", verb, peer, len(c.p.GPUs)-1)
	case peer == g:
		c.r.findingAt(Malformed, Error, g, t, -1, "%s its own rank", verb)
	case c.o.Linked != nil && !c.o.Linked(from, to):
		c.r.findingAt(Malformed, Error, g, t, -1, "%s rank %d, but rank %d has no link to rank %d", verb, peer, from, to)
	}
}

func (c *checker) checkStep(g, t, i int, tb *ir.Threadblock) {
	s := &tb.Steps[i]
	bad := func(format string, args ...any) { c.r.findingAt(Malformed, Error, g, t, i, format, args...) }
	if int(s.Op) >= len(ir.Ops()) {
		bad("unknown instruction %d", s.Op)
		return
	}
	if s.Op.Sends() && tb.Send == -1 {
		bad("%s in a threadblock that sends to nobody", s.Op)
	}
	if s.Op.Receives() && tb.Recv == -1 {
		bad("%s in a threadblock that receives from nobody", s.Op)
	}
	if s.Op != ir.Nop {
		if s.Count < 1 {
			bad("%s of %d chunks: want at least 1", s.Op, s.Count)
			return
		}
		reads := s.Op.ReadsSrc() && c.place(g, t, i, "reads", s.Src, s.Count)
		writes := s.Op.WritesDst() && c.place(g, t, i, "writes", s.Dst, s.Count)
		if reads && writes && c.moved <= maxMoved && shifted(s) {
			c.r.findingAt(Race, Error, g, t, i, "%s reads what it writes, shifted", describe(s))
		}
	}
	for _, d := range s.Deps {
		c.dependency(g, t, i, d)
	}
}

// shifted reports whether source and destination of a step overlap other than
// each chunk with itself: chunk i of one is chunk k of the other, and k is not
// i.
func shifted(s *ir.Step) bool {
	src, dst := s.Src.Normal(s.Count), s.Dst.Normal(s.Count)
	if src.Buf != dst.Buf || src == dst {
		return false
	}
	from, to := int64(src.Off), int64(dst.Off)
	if from >= dst.End(s.Count) || to >= src.End(s.Count) {
		return false
	}
	a, b := int64(max(src.Stride, 1)), int64(max(dst.Stride, 1))
	if a == 1 && b == 1 {
		return true
	}
	// There are no more chunks to look at than the step moves.
	for i := range int64(s.Count) {
		d := from + i*a - to
		if k := d / b; d >= 0 && d%b == 0 && k < int64(s.Count) && k != i {
			return true
		}
	}
	return false
}

// place checks some chunks against their buffer.
func (c *checker) place(g, t, i int, verb string, l ir.Loc, count int32) (inside bool) {
	if l.Buf > collective.Scratch {
		c.r.findingAt(Malformed, Error, g, t, i, "%s buffer %d: want in, out or sc", verb, l.Buf)
		return false
	}
	if l.Stride < 0 {
		c.r.findingAt(Malformed, Error, g, t, i, "%s chunks %d apart: want a stride of at least 1", verb, l.Stride)
		return false
	}
	size := c.p.GPUs[g].Scratch
	if l.Buf != collective.Scratch {
		size = c.col.BufferChunks(g, l.Buf)
	}
	if l.Off >= 0 && l.End(count) <= int64(size) {
		return true
	}
	holds := fmt.Sprintf("which holds %d chunks", size)
	if size == 0 && l.Buf != collective.Scratch {
		holds = "which this rank does not have"
		if c.p.Collective.InPlace {
			holds = "which an in-place " + c.p.Collective.Name + " does not have"
		}
	}
	c.r.findingAt(Malformed, Error, g, t, i, "%s %s, %s", verb, l.Place(count), holds)
	return false
}

// dependency checks that a wait names an existing step with HasDep. A later
// flag of that threadblock also meets the wait, so a missing one is an error
// only if there is no later one; run then reports the deadlock.
func (c *checker) dependency(g, t, i int, d ir.Dep) {
	tbs := c.p.GPUs[g].Threadblocks
	switch {
	case d.TB < 0 || int(d.TB) >= len(tbs):
		c.r.findingAt(Malformed, Error, g, t, i, "waits for threadblock %d, which does not exist", d.TB)
	case d.Step < 0 || int(d.Step) >= len(tbs[d.TB].Steps):
		c.r.findingAt(Malformed, Error, g, t, i, "waits for step %d of threadblock %d, which has %d steps", d.Step, d.TB, len(tbs[d.TB].Steps))
	case int(d.TB) == t && int(d.Step) >= i:
		c.r.findingAt(Malformed, Error, g, t, i, "waits for step %d of its own threadblock, which comes no earlier", d.Step)
	case tbs[d.TB].Steps[d.Step].HasDep:
	case c.met(int32(g), d) < 0:
		c.r.findingAt(Malformed, Error, g, t, i, "waits for step %d of threadblock %d, which posts no flag (hasdep), nor does a later step", d.Step, d.TB)
	default:
		c.r.findingAt(Malformed, Warning, g, t, i, "waits for step %d of threadblock %d, which posts no flag (hasdep); a later step does", d.Step, d.TB)
	}
}
