package synth

import (
	"slices"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/lists"
)

// flowEncoding is for chunks that each have a single destination. The chunks of a source
// form an integer flow over the network unrolled in steps:
//
//	sent(u, l, t)   chunks of source u over lane l in step t, in order encoding
//	chunks that leave a rank up to step t ≤ chunks that came to it before step t
//	chunks that come to a rank - chunks that leave it = chunks that it wants of u
//
// Any such flow decomposes into paths from the source to its destinations.
type flowEncoding struct {
	p      *problem
	f      *constraints.Formula
	rounds []constraints.Int
	groups []sourceGroup
	// shortest leaves out lanes that are not on a shortest path from a source to a
	// destination, so that unsat proves nothing.
	shortest bool
}

type sourceGroup struct {
	source int
	items  [][]int // by destination
	total  int
	sent   [][]constraints.Int // by lane and step
}

// singleDestination reports whether every chunk has at most one destination.
func (p *problem) singleDestination() bool {
	for i := range p.items {
		if len(p.items[i].destinations()) > 1 {
			return false
		}
	}
	return true
}

func (p *problem) encodeFlow(name string, open [][]int, shortest bool) *flowEncoding {
	e := &flowEncoding{p: p, f: constraints.NewFormula(name).Until(p.ctx), shortest: shortest}
	e.rounds = encodeRounds(e.f, p, open)
	at := map[int]int{}
	for x := range p.items {
		it := &p.items[x]
		others := it.destinations()
		if len(others) == 0 {
			continue
		}
		i, ok := at[it.source]
		if !ok {
			i = len(e.groups)
			at[it.source] = i
			e.groups = append(e.groups, sourceGroup{source: it.source, items: make([][]int, p.net.ranks)})
		}
		e.groups[i].items[others[0]] = append(e.groups[i].items[others[0]], x)
		e.groups[i].total++
	}
	for i := range e.groups {
		if e.f.Err() != nil {
			return e // too large or too late: it is not solved
		}
		e.encodeGroup(&e.groups[i])
	}
	p.limitLinks(e.f, e.rounds, e.load)
	return e
}

func (e *flowEncoding) encodeGroup(g *sourceGroup) {
	e.amounts(g)
	for r := range e.p.net.ranks {
		e.conserve(g, r)
	}
}

// useful returns, by rank, the number of sends to the nearest rank that wants some of a
// source's chunks and, by rank and step, the number of them that can still reach their
// destination.
func (e *flowEncoding) useful(g *sourceGroup) (left []int, through [][]int) {
	p := e.p
	n, steps := p.net.ranks, p.Steps
	left, through = make([]int, n), make([][]int, n)
	for r := range n {
		left[r] = steps + 1
		through[r] = make([]int, steps+1)
		for w, items := range g.items {
			if d := p.net.dist[r][w]; d >= 0 && len(items) > 0 {
				left[r] = min(left[r], int(d))
				for t := range through[r] {
					if t+int(d) <= steps {
						through[r][t] += len(items)
					}
				}
			}
		}
	}
	return left, through
}

// amounts makes the variables for the number of chunks on each lane in each step.
func (e *flowEncoding) amounts(g *sourceGroup) {
	p, steps := e.p, e.p.Steps
	left, through := e.useful(g)
	for _, l := range p.net.lanes {
		row := make([]constraints.Int, steps)
		width := g.total
		for _, at := range l.links {
			width = min(width, p.net.links[at].capacity*(p.Rounds-steps+1))
		}
		for t := range row {
			d := p.net.dist[g.source][l.from]
			if d < 0 || int(d) > t || int(l.to) == g.source || t+1+left[l.to] > steps {
				continue
			}
			if e.shortest && !g.onShortestPath(p.net, l) {
				continue
			}
			row[t] = e.f.Int(0, min(width, through[l.to][t+1]))
		}
		g.sent = append(g.sent, row)
	}
}

// conserve states that chunks that leave a rank have come to it before, and that in the end
// it has what it wants.
func (e *flowEncoding) conserve(g *sourceGroup, r int) {
	p, f := e.p, e.f
	var came, left []constraints.Term // up to this step
	for t := range p.Steps {
		for _, l := range p.net.out[r] {
			left = append(left, g.sent[l][t].Terms(1)...)
		}
		if r != g.source && len(left) > 0 {
			f.SumAtMost(0, append(slices.Clone(left), negated(came)...)...)
		}
		for _, l := range p.net.in[r] {
			came = append(came, g.sent[l][t].Terms(1)...)
		}
	}
	if r == g.source {
		f.SumExactly(g.total, left...)
		return
	}
	f.SumExactly(len(g.items[r]), append(came, negated(left)...)...)
}

// negated subtracts literals of weight 1 from a sum.
func negated(terms []constraints.Term) []constraints.Term {
	return lists.Map(terms, func(t constraints.Term) constraints.Term { return constraints.Term{Weight: -1, Lit: t.Lit} })
}

// onShortestPath reports whether a lane is on a shortest path from the source to one of its
// destinations.
func (g *sourceGroup) onShortestPath(n *network, l lane) bool {
	for r, items := range g.items {
		if len(items) > 0 && n.dist[l.to][r] >= 0 && n.dist[g.source][l.from]+1+n.dist[l.to][r] == n.dist[g.source][r] {
			return true
		}
	}
	return false
}

// load returns the chunks of all groups on a lane in a step.
func (e *flowEncoding) load(lane int32, step int) (terms []constraints.Term) {
	for i := range e.groups {
		terms = append(terms, e.groups[i].sent[lane][step].Terms(1)...)
	}
	return terms
}

// schedule decodes a model: it decomposes each source's flow into paths of chunks.
func (e *flowEncoding) schedule(model []bool) Schedule {
	p := e.p
	s := make(Schedule, p.Steps)
	for t := range s {
		s[t].Rounds = e.rounds[t].Value(model)
	}
	for i := range e.groups {
		g := &e.groups[i]
		count := make([][]int, len(p.net.lanes))
		for l := range count {
			count[l] = make([]int, p.Steps)
			for t := range count[l] {
				count[l][t] = g.sent[l][t].Value(model)
			}
		}
		for r, items := range g.items {
			for _, x := range items {
				for _, h := range p.tracePath(g.source, r, count) {
					l := p.net.lanes[h.lane]
					s[h.step].Sends = append(s[h.step].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
				}
			}
		}
	}
	return p.prune(s)
}

// tracePath traces one chunk of a flow back from its destination to its source, and removes
// it from the counts. It takes the latest possible step each time; by conservation, the
// chunk came in an earlier one.
func (p *problem) tracePath(source, rank int, count [][]int) []hop {
	var hops []hop
	for t := p.Steps - 1; rank != source && t >= 0; t-- {
		for _, l := range p.net.in[rank] {
			if count[l][t] > 0 {
				count[l][t]--
				hops = append(hops, hop{l, t})
				rank = int(p.net.lanes[l].from)
				break
			}
		}
	}
	return hops
}
