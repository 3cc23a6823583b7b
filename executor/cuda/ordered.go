package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Lines of LL and LL128 carry their data in themselves and order no other
// memory: that is why they are fast. A program may lean on more.
//
//	write, then read or write   a threadblock writes a chunk and sends another, and the
//	                            answer, two ranks later, tells a threadblock of the first
//	                            rank that the chunk is there: fences around all messages
//	read, then write            a threadblock sends a chunk, and what comes of it returns to
//	                            its place in another threadblock: the read has long given
//	                            its value, and no fence makes it more so
//
// This finds out which of the two a program does.

// order says how much a program's messages must order besides their own data.
type order uint32

const (
	unordered   order = iota // nothing
	readsBefore              // reads that have returned their values: on a GPU that takes nothing, but the thread sanitizer must know
	fenced                   // all memory
)

// A program is taken for one that needs fences if finding out would mean comparing
// more than mostCompared pairs of accesses, or keeping more than mostClocks
// numbers of clocks.
const (
	mostCompared = 1 << 24
	mostClocks   = 1 << 22
)

// messagesOrder says what a program's messages must order.
func messagesOrder(p *ir.Program) order {
	c := newClocks(p)
	if c == nil || !c.run() {
		return fenced
	}
	need, budget := unordered, mostCompared
	for r := range p.GPUs {
		for _, all := range accessesOf(&p.GPUs[r], c.first[r]) {
			for i, a := range all {
				for _, b := range all[i+1:] {
					if a.block == b.block || !a.writes && !b.writes {
						continue
					}
					if budget--; budget < 0 {
						return fenced
					}
					switch {
					case c.local[b.block][b.step][a.block] > a.step, c.local[a.block][a.step][b.block] > b.step:
					case b.writes && !a.writes && c.known(b)[a.block] > a.step, a.writes && !b.writes && c.known(a)[b.block] > b.step:
						need = readsBefore
					default:
						return fenced
					}
				}
			}
		}
	}
	return need
}

// access is a step's access to a chunk.
type access struct {
	block, step int32 // numbered over all threadblocks
	writes      bool
}

type place struct {
	buffer collective.Buffer
	index  int32
}

// accessesOf lists which steps read and write each chunk of a rank.
func accessesOf(g *ir.GPU, first int) map[place][]access {
	all := map[place][]access{}
	for tb := range g.Threadblocks {
		for i := range g.Threadblocks[tb].Steps {
			s := &g.Threadblocks[tb].Steps[i]
			for c := range s.Count {
				if s.Op.ReadsSrc() {
					at := place{s.Src.Buf, s.Src.At(c)}
					all[at] = append(all[at], access{int32(first + tb), int32(i), false})
				}
				if s.Op.WritesDst() {
					at := place{s.Dst.Buf, s.Dst.At(c)}
					all[at] = append(all[at], access{int32(first + tb), int32(i), true})
				}
			}
		}
	}
	return all
}

// clock says, for every threadblock of the program, how many of its steps are
// known to have done something.
type clock []int32

func (c clock) join(other clock) {
	for i, n := range other {
		c[i] = max(c[i], n)
	}
}

// clocks are what is known where, by threadblock and step: local, of steps that
// have ended, by their threadblocks' order and dependencies; start and end, of
// steps whose reads have given their values, messages counted.
//
//	start   when the step starts; so it is with whoever has a line of its message
//	end     when it has ended: its own reads, too, and all that the end of the step
//	        tells whose message it has received; so it is with whoever has its whole
//	        message, since a step that forwards has received all that it has sent
type clocks struct {
	p      *ir.Program
	first  []int // threadblock of a rank, among all
	blocks []*ir.Threadblock
	rank   []int
	sender [][]access // by threadblock and step: which step sends what it receives; block -1: none

	local, start, end [][]clock
}

// newClocks matches sends with receives. It is nil if they don't match, or the
// program is too large.
func newClocks(p *ir.Program) *clocks {
	c := &clocks{p: p}
	steps := 0
	for r := range p.GPUs {
		c.first = append(c.first, len(c.blocks))
		for tb := range p.GPUs[r].Threadblocks {
			c.blocks = append(c.blocks, &p.GPUs[r].Threadblocks[tb])
			c.rank = append(c.rank, r)
			steps += len(p.GPUs[r].Threadblocks[tb].Steps)
		}
	}
	n := len(c.blocks)
	if int64(n)*int64(steps) > mostClocks {
		return nil
	}
	sent := map[connection][]access{}
	for b, tb := range c.blocks {
		for i := range tb.Steps {
			if tb.Steps[i].Op.Sends() {
				key := connection{c.rank[b], tb.Send, tb.Channel}
				sent[key] = append(sent[key], access{block: int32(b), step: int32(i)})
			}
		}
	}
	c.sender = make([][]access, n)
	for b, tb := range c.blocks {
		c.sender[b] = make([]access, len(tb.Steps))
		key, k := connection{tb.Recv, c.rank[b], tb.Channel}, 0
		for i := range tb.Steps {
			c.sender[b][i].block = -1
			if !tb.Steps[i].Op.Receives() {
				continue
			}
			if k == len(sent[key]) {
				return nil
			}
			c.sender[b][i] = sent[key][k]
			k++
		}
	}
	c.local, c.start, c.end = make([][]clock, n), make([][]clock, n), make([][]clock, n)
	return c
}

// run computes all clocks. It is false if steps wait for each other in a circle.
func (c *clocks) run() bool {
	for moved := true; moved; {
		moved = false
		for b := range c.blocks {
			for len(c.end[b]) < len(c.blocks[b].Steps) && c.next(b) {
				moved = true
			}
		}
	}
	for b := range c.blocks {
		if len(c.end[b]) < len(c.blocks[b].Steps) {
			return false
		}
	}
	return true
}

// next computes the clocks of a threadblock's next step. It is false if something
// that the step waits for has none yet.
func (c *clocks) next(b int) bool {
	step := len(c.end[b])
	sender := c.sender[b][step]
	if sender.block >= 0 && len(c.end[sender.block]) <= int(sender.step) {
		return false
	}
	local, start := make(clock, len(c.blocks)), make(clock, len(c.blocks))
	if step > 0 {
		copy(local, c.local[b][step-1])
		copy(start, c.end[b][step-1])
	}
	local[b] = int32(step)
	for _, d := range c.blocks[b].Steps[step].Deps {
		other := c.first[c.rank[b]] + int(d.TB)
		if other >= len(c.blocks) || len(c.end[other]) <= int(d.Step) {
			return false
		}
		local.join(c.local[other][d.Step])
		local[other] = max(local[other], d.Step+1)
		start.join(c.end[other][d.Step])
	}
	end := append(clock(nil), start...)
	end[b] = int32(step + 1)
	if sender.block >= 0 {
		end.join(c.end[sender.block][sender.step])
	}
	c.local[b] = append(c.local[b], local)
	c.start[b] = append(c.start[b], start)
	c.end[b] = append(c.end[b], end)
	return true
}

// known says which steps' reads have returned their values by the time an access
// writes, which it may do once a line of its message has come, if it has one.
func (c *clocks) known(a access) clock {
	sender := c.sender[a.block][a.step]
	if sender.block < 0 {
		return c.start[a.block][a.step]
	}
	all := append(clock(nil), c.start[a.block][a.step]...)
	all.join(c.start[sender.block][sender.step])
	return all
}
