package compiler

import (
	"errors"
	"fmt"

	"github.com/colltune/colltune/compiler/ir"
)

// Limits are the capacities of a runtime; 0 means no limit. Checking them at
// compile time gives a clear error early, where a runtime would refuse the
// program late or, worse, run it wrongly.
type Limits struct {
	Threadblocks int // of a GPU; all are co-resident
	Steps        int // of a threadblock; a step that waits for n others counts as n
	Channels     int
	Count        int // chunks of a step
	Connections  int // of a GPU on one channel, sending and receiving separately
	Scratch      int // chunks of a GPU's scratch
	// Contiguous means that the runtime has no strides and splits a step with
	// strided chunks into one step for each, which are what counts.
	Contiguous bool
}

// need is the most of some resource that a program needs anywhere, and where.
type need struct {
	most  int
	where string
}

// raise raises a need to much, if that is more.
func (n *need) raise(much int, where string, args ...any) {
	if much > n.most {
		n.most, n.where = much, fmt.Sprintf(where, args...)
	}
}

// limits is the table of limited resources.
var limits = [...]struct {
	what  string
	limit func(*Limits) int
	need  func(*ir.Program) need
}{
	{"threadblocks", func(l *Limits) int { return l.Threadblocks }, eachGPU(func(g *ir.GPU) int { return len(g.Threadblocks) })},
	{"steps", func(l *Limits) int { return l.Steps }, eachThreadblock(stepsOf)},
	{"channels", func(l *Limits) int { return l.Channels }, func(p *ir.Program) need { return need{p.Channels(), "the program"} }},
	{"chunks in a step", func(l *Limits) int { return l.Count }, eachThreadblock(countOf)},
	{"connections on a channel", func(l *Limits) int { return l.Connections }, eachGPU(connectionsOf)},
	{"chunks of scratch", func(l *Limits) int { return l.Scratch }, eachGPU(func(g *ir.GPU) int { return g.Scratch })},
}

func eachGPU(of func(*ir.GPU) int) func(*ir.Program) need {
	return func(p *ir.Program) (n need) {
		for g := range p.GPUs {
			n.raise(of(&p.GPUs[g]), "gpu %d", g)
		}
		return n
	}
}

func eachThreadblock(of func(*ir.Threadblock) int) func(*ir.Program) need {
	return func(p *ir.Program) (n need) {
		for g := range p.GPUs {
			for t := range p.GPUs[g].Threadblocks {
				n.raise(of(&p.GPUs[g].Threadblocks[t]), "gpu %d threadblock %d", g, t)
			}
		}
		return n
	}
}

// stepsOf counts a threadblock's steps for a runtime whose steps have one wait
// each: every further wait takes a step of its own.
func stepsOf(tb *ir.Threadblock) (n int) {
	for i := range tb.Steps {
		n += max(1, len(tb.Steps[i].Deps))
	}
	return n
}

func countOf(tb *ir.Threadblock) (most int) {
	for i := range tb.Steps {
		most = max(most, int(tb.Steps[i].Count))
	}
	return most
}

func connectionsOf(g *ir.GPU) (most int) {
	type side struct {
		channel int
		sends   bool
	}
	n := map[side]int{}
	for t := range g.Threadblocks {
		tb := &g.Threadblocks[t]
		if tb.Send >= 0 {
			n[side{tb.Channel, true}]++
		}
		if tb.Recv >= 0 {
			n[side{tb.Channel, false}]++
		}
	}
	for _, k := range n {
		most = max(most, k)
	}
	return most
}

// Check returns an error that names each limit that the program exceeds, and by
// how much.
func (l Limits) Check(p *ir.Program) error {
	if l.Contiguous {
		var err error
		if p, err = ir.Contiguous(p); err != nil {
			return err
		}
	}
	var over []error
	for _, row := range limits {
		limit := row.limit(&l)
		if limit == 0 {
			continue
		}
		if n := row.need(p); n.most > limit {
			over = append(over, fmt.Errorf("%s needs %d %s, %d more than the limit of %d", n.where, n.most, row.what, n.most-limit, limit))
		}
	}
	return errors.Join(over...)
}
