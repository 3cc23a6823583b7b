package mscclpp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// graph is the order among a program's steps: within threadblocks, along messages,
// and along waits within a GPU.
type graph struct {
	p     *ir.Program
	first []int // by GPU: its first threadblock; with one more entry at the end
	base  []int // by threadblock: its first step; with one more entry at the end
	owner []int // by threadblock: its GPU

	steps   []*ir.Step
	tb      []int   // by step: its threadblock
	order   []int   // the steps in a topological order
	sent    [][]int // by step: the messages it sends
	got     [][]int // by step: the messages it receives
	deps    [][]int // by step: the steps of other threadblocks it waits for
	msgs    []message
	sums    map[int]*sum     // by first step
	idle    []bool           // by step: a sum has taken over its work
	port    func(m int) bool // whether a message goes through a port
	packets bool             // messages are packets; a sum reads them where they land and they are copied nowhere else

	clocks []counts // by step: how many steps of each threadblock come before it
}

const none = -1

// message is a message of the program, with the steps at its ends.
type message struct {
	send, recv int
	count      int
}

// maxOrder bounds the size of the table of clocks.
const maxOrder = 1 << 28

func newGraph(p *ir.Program) (*graph, error) {
	if few := tooMany(p); few != "" {
		return nil, errors.New(few)
	}
	g := &graph{p: p}
	for r := range p.GPUs {
		g.first = append(g.first, len(g.owner))
		for t := range p.GPUs[r].Threadblocks {
			g.owner = append(g.owner, r)
			g.base = append(g.base, len(g.steps))
			for i := range p.GPUs[r].Threadblocks[t].Steps {
				g.steps = append(g.steps, &p.GPUs[r].Threadblocks[t].Steps[i])
				g.tb = append(g.tb, len(g.owner)-1)
			}
		}
	}
	g.first, g.base = append(g.first, len(g.owner)), append(g.base, len(g.steps))
	g.deps, g.idle = make([][]int, len(g.steps)), make([]bool, len(g.steps))
	for s, step := range g.steps {
		for _, d := range step.Deps {
			if u := g.first[g.owner[g.tb[s]]] + int(d.TB); u != g.tb[s] {
				g.deps[s] = append(g.deps[s], g.base[u]+int(d.Step))
			}
		}
	}
	if err := g.matchMessages(); err != nil {
		return nil, err
	}
	return g, g.sortTopologically()
}

func (g *graph) threadblock(t int) *ir.Threadblock {
	r := g.owner[t]
	return &g.p.GPUs[r].Threadblocks[t-g.first[r]]
}

// matchMessages matches sends and receives: the n-th message sent over a
// connection is the n-th received from it.
func (g *graph) matchMessages() error {
	type connection struct{ from, to, channel int }
	sends, recvs := map[connection][]int{}, map[connection][]int{}
	g.sent, g.got = make([][]int, len(g.steps)), make([][]int, len(g.steps))
	for s, step := range g.steps {
		tb, r := g.threadblock(g.tb[s]), g.owner[g.tb[s]]
		if step.Op.Receives() {
			c := connection{tb.Recv, r, tb.Channel}
			recvs[c] = append(recvs[c], s)
		}
		if step.Op.Sends() {
			c := connection{r, tb.Send, tb.Channel}
			m := len(g.msgs)
			g.sent[s] = []int{m}
			g.msgs = append(g.msgs, message{send: s, recv: none, count: int(step.Count)})
			sends[c] = append(sends[c], m)
		}
	}
	for c, takes := range recvs {
		if len(takes) != len(sends[c]) {
			return fmt.Errorf("from gpu %d to gpu %d on channel %d: %d messages sent and %d taken", c.from, c.to, c.channel, len(sends[c]), len(takes))
		}
		for i, s := range takes {
			m := sends[c][i]
			if int(g.steps[s].Count) != g.msgs[m].count {
				return fmt.Errorf("from gpu %d to gpu %d on channel %d: a message of %d chunks is taken as %d", c.from, c.to, c.channel, g.msgs[m].count, g.steps[s].Count)
			}
			g.msgs[m].recv, g.got[s] = s, []int{m}
		}
	}
	for i := range g.msgs {
		if s := g.msgs[i].send; g.msgs[i].recv == none {
			return fmt.Errorf("gpu %d threadblock %d step %d: nobody takes what it sends", g.owner[g.tb[s]], g.tb[s]-g.first[g.owner[g.tb[s]]], s-g.base[g.tb[s]])
		}
	}
	return nil
}

// each calls f for every direct predecessor of step s.
func (g *graph) each(s int, f func(before int)) {
	t := g.tb[s]
	if s > g.base[t] {
		f(s - 1)
	}
	for _, m := range g.got[s] {
		f(g.msgs[m].send)
	}
	for _, d := range g.deps[s] {
		f(d)
	}
}

// sortTopologically orders the steps topologically and computes their clocks.
// Steps whose only predecessor is the one before them in their threadblock
// share its clock.
func (g *graph) sortTopologically() error {
	left := make([]int, len(g.steps))
	after := make([][]int, len(g.steps))
	for s := range g.steps {
		g.each(s, func(before int) {
			left[s]++
			after[before] = append(after[before], s)
		})
	}
	for s := range g.steps {
		if left[s] == 0 {
			g.order = append(g.order, s)
		}
	}
	for i := 0; i < len(g.order); i++ {
		s := g.order[i]
		for _, next := range after[s] {
			if left[next]--; left[next] == 0 {
				g.order = append(g.order, next)
			}
		}
	}
	if len(g.order) < len(g.steps) {
		return fmt.Errorf("its steps wait for each other in a circle")
	}
	g.computeClocks(nil)
	return nil
}

// computeClocks computes the clocks. Given a history of accesses, it also makes
// a step wait for earlier steps that touch the same chunk, if it does not
// already know that they are over.
func (g *graph) computeClocks(all *history) {
	zero := newCounts(len(g.owner))
	g.clocks = make([]counts, len(g.steps))
	for _, s := range g.order {
		clock := zero
		if s > g.base[g.tb[s]] {
			clock = g.clocks[s-1]
		}
		learn := func(before int) {
			t := g.tb[before]
			if t == g.tb[s] {
				return
			}
			clock, _ = clock.max(g.clocks[before])
			if n := int32(before-g.base[t]) + 1; clock.at(t) < n {
				clock = clock.with(t, n)
			}
		}
		g.each(s, learn)
		if all != nil {
			g.places(s, func(at span, writes bool) {
				all.conflicts(at, s, writes, func(before int) {
					if t := g.tb[before]; t != g.tb[s] && clock.at(t) <= int32(before-g.base[t]) {
						g.deps[s] = append(slices.Clip(g.deps[s]), before)
						learn(before)
					}
				})
			})
		}
		g.clocks[s] = clock
	}
}

// before reports whether step a is known to be complete when step b begins. No
// step is before itself.
func (g *graph) before(a, b int) bool {
	if g.tb[a] == g.tb[b] {
		return a < b
	}
	t := g.tb[a]
	return g.clocks[b].at(t) > int32(a-g.base[t])
}

// knownAtEnd reports whether GPU r knows, when it ends, that step s is
// complete.
func (g *graph) knownAtEnd(r, s int) bool {
	for t := g.first[r]; t < g.first[r+1]; t++ {
		if last := g.base[t+1] - 1; last >= g.base[t] && g.before(s, last) {
			return true
		}
	}
	return false
}

// begun reports whether GPU r is known to have begun when step s begins.
func (g *graph) begun(r, s int) bool {
	for t := g.first[r]; t < g.first[r+1]; t++ {
		if g.clocks[s].at(t) > 0 {
			return true
		}
	}
	return false
}
