package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Lines of LL and LL128 carry their flags with their data and order no other memory: that
// is why they are fast. A program may rely on more order.
//
//	write, then read or write   a threadblock writes a chunk and sends another, and the
//	                            answer, two ranks later, tells a threadblock of the first
//	                            rank that the chunk is there: fences around all messages
//	read, then write            a threadblock sends a chunk, and what comes of it returns to
//	                            its place in another threadblock: the read has long given
//	                            its value, and no fence makes it more so
//
// This file decides which of the two a program relies on, with vector clocks.

// order is the memory order that a program's messages need besides their own data.
type order uint32

const (
	unordered   order = iota // nothing
	readsBefore              // of earlier reads: free on a GPU, but the thread sanitizer must know
	fenced                   // all memory
)

// A program gets fences without analysis if that would take more than maxCompared
// comparisons of accesses, or more than maxClocks numbers of clocks.
const (
	maxCompared = 1 << 24
	maxClocks   = 1 << 22
)

// messagesOrder returns the order that a program's messages need.
func messagesOrder(p *ir.Program) order {
	c := newClocks(p)
	if c == nil || !c.run() {
		return fenced
	}
	need, budget := unordered, maxCompared
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

// accessesOf lists the steps that read and write each chunk of a rank.
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

// clocks are the vector clocks of every threadblock and step: local counts steps that have
// ended, by the order of threadblocks and dependencies alone; start and end count steps
// whose reads have returned their values, by messages too.
//
//	start   at the step's start: known to a receiver of a line of its message
//	end     at its end, with its own reads and the clock of the step whose message it
//	        received: known to a receiver of its whole message, since a step that
//	        forwards has received all that it has sent
type clocks struct {
	first  []int // threadblock of a rank, among all
	blocks []*ir.Threadblock
	rank   []int
	sender [][]access // by threadblock and step: the step that sends its message; block -1: none

	local, start, end [][]clock
}

// newClocks matches sends with receives. It returns nil if they don't match, or the program
// is too large.
func newClocks(p *ir.Program) *clocks {
	c := &clocks{}
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
	if int64(n)*int64(steps) > maxClocks {
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

// run computes all clocks. It returns false if steps wait for each other in a cycle.
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

// next computes the clocks of a threadblock's next step. It returns false if a step that it
// waits for has none yet.
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

// known returns the clock of reads that have returned their values when an access writes.
// A step that receives may write once a line of its message has arrived.
func (c *clocks) known(a access) clock {
	sender := c.sender[a.block][a.step]
	if sender.block < 0 {
		return c.start[a.block][a.step]
	}
	all := append(clock(nil), c.start[a.block][a.step]...)
	all.join(c.start[sender.block][sender.step])
	return all
}
