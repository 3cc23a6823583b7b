package synth

import (
	"slices"

	"github.com/colltune/colltune/constraints"
)

// chunkEncoding tracks each chunk: the ranks that have it after each step, and the lanes
// that it takes (SCCL, section 3.3).
//
//	has(x, r, t)    chunk x is at rank r after step t          false before its distance; never lost
//	sent(x, l, t)   it takes lane l in step t                  implies that its sender had it before
//	rounds(t)       of step t, in order encoding
//	Σ sent over the lanes of a link in step t ≤ capacity × rounds(t)
//
// A chunk comes to a rank at most once. Interchangeable chunks come to one rank that all of
// them must reach in the order of their numbers.
type chunkEncoding struct {
	p      *problem
	f      *constraints.Formula
	rounds []constraints.Int
	has    [][]constraints.Lit // by item × rank, and step 0…S
	sent   [][]constraints.Lit // by item × lane, and step 0…S-1; False if it can't help
}

// encodeChunks states a problem, with the rounds of each step limited to those of the open
// splits.
func (p *problem) encodeChunks(name string, open [][]int) *chunkEncoding {
	e := &chunkEncoding{p: p, f: constraints.NewFormula(name).Until(p.ctx)}
	e.rounds = encodeRounds(e.f, p, open)
	for i := range p.items {
		if e.f.Err() != nil {
			return e // too large or too late: it is not solved
		}
		e.encodeItem(i)
	}
	p.limitLinks(e.f, e.rounds, e.load)
	e.breakSymmetry()
	return e
}

// encodeRounds makes the variables for every step's rounds, which add up to the query's.
func encodeRounds(f *constraints.Formula, p *problem, open [][]int) []constraints.Int {
	rounds := make([]constraints.Int, p.Steps)
	var all []constraints.Term
	for t := range rounds {
		lo, hi := 1, p.Rounds-p.Steps+1
		for i, split := range open {
			if i == 0 {
				lo, hi = split[t], split[t]
			}
			lo, hi = min(lo, split[t]), max(hi, split[t])
		}
		rounds[t] = f.Int(lo, hi)
		all = append(all, rounds[t].Terms(1)...)
	}
	rest := p.Rounds
	for _, r := range rounds {
		rest -= r.Lo
	}
	if len(all) > 0 || rest != 0 {
		f.SumExactly(rest, all...)
	}
	return rounds
}

// encodeItem states where one chunk can be, and how it moves.
func (e *chunkEncoding) encodeItem(x int) {
	base := len(e.has)
	e.has = append(e.has, e.presence(x)...)
	has := e.has[base:]
	e.sent = append(e.sent, e.sends(x, has)...)
	e.arrivals(x, has, e.sent[x*len(e.p.net.lanes):])
}

// presence makes the variables for where a chunk is after each step. It is not where it
// cannot have arrived yet, nor where it is too late to reach any rank that wants it. A
// rank that has a chunk keeps it.
func (e *chunkEncoding) presence(x int) (has [][]constraints.Lit) {
	p, it, steps := e.p, &e.p.items[x], e.p.Steps
	for r := range p.net.ranks {
		row := make([]constraints.Lit, steps+1)
		left, far := p.sendsLeft(it, r), int(p.net.dist[it.source][r])
		for t := range row {
			switch {
			case r == it.source:
				row[t] = constraints.True
			case far < 0 || t < far || t+left > steps:
				row[t] = constraints.False
			case t == steps: // at the end it is exactly where it is wanted
				row[t] = constraints.True
			default:
				row[t] = e.f.Bool("")
			}
		}
		for t := 1; t <= steps; t++ {
			if row[t-1] != constraints.False && row[t] != constraints.False && row[t] != constraints.True {
				e.f.Clause(row[t-1].Not(), row[t])
			}
		}
		has = append(has, row)
		if row[steps] == constraints.False && slices.Contains(it.wanted, r) {
			e.f.Clause() // too far away
		}
	}
	return has
}

// sendsLeft returns the number of sends from a rank to the nearest rank that wants the
// chunk: 0 if that is the rank itself. With fewer steps left, the chunk is useless there.
func (p *problem) sendsLeft(it *item, rank int) int {
	least := p.Steps + 1
	for _, w := range it.wanted {
		if d := p.net.dist[rank][w]; w != it.source && d >= 0 {
			least = min(least, int(d))
		}
	}
	return least
}

// sends makes the variables for the lanes that a chunk takes, from a rank that has it to
// one that has it afterwards.
func (e *chunkEncoding) sends(x int, has [][]constraints.Lit) (sent [][]constraints.Lit) {
	for _, l := range e.p.net.lanes {
		row := make([]constraints.Lit, e.p.Steps)
		from, to := has[l.from], has[l.to]
		for t := range row {
			row[t] = constraints.False
			if int(l.to) == e.p.items[x].source || from[t] == constraints.False || to[t+1] == constraints.False {
				continue
			}
			row[t] = e.f.Bool("")
			e.f.Clause(row[t].Not(), from[t])
			if to[t+1] != constraints.True {
				e.f.Clause(row[t].Not(), to[t+1])
			}
		}
		sent = append(sent, row)
	}
	return sent
}

// arrivals states that a chunk is only where it was before or where a lane brings it, and
// that it is brought to a rank at most once.
func (e *chunkEncoding) arrivals(x int, has, sent [][]constraints.Lit) {
	for r, row := range has {
		if r == e.p.items[x].source {
			continue
		}
		var ever []constraints.Lit
		for t := range e.p.Steps {
			if row[t+1] == constraints.False {
				continue
			}
			now := []constraints.Lit{row[t+1].Not(), row[t]}
			for _, l := range e.p.net.in[r] {
				if s := sent[l][t]; s != constraints.False {
					now = append(now, s)
					ever = append(ever, s)
				}
			}
			e.f.Clause(now...)
		}
		if len(ever) > 1 {
			e.f.AtMost(1, ever...)
		}
	}
}

// load returns the sends of all items on a lane in a step.
func (e *chunkEncoding) load(lane int32, step int) (terms []constraints.Term) {
	for x := range e.p.items {
		if s := e.sent[x*len(e.p.net.lanes)+int(lane)][step]; s != constraints.False {
			terms = append(terms, constraints.Term{Weight: 1, Lit: s})
		}
	}
	return terms
}

// limitLinks keeps the load of every link in every step within its capacity in the step's
// rounds. load returns what a lane carries in a step, as a sum of literals.
func (p *problem) limitLinks(f *constraints.Formula, rounds []constraints.Int, load func(lane int32, step int) []constraints.Term) {
	for _, at := range p.net.undominated() {
		l := &p.net.links[at]
		for t := range p.Steps {
			var terms []constraints.Term
			for _, lane := range l.lanes {
				terms = append(terms, load(lane, t)...)
			}
			if least := l.capacity * rounds[t].Lo; len(terms) > least {
				f.SumAtMost(least, append(terms, rounds[t].Terms(-l.capacity)...)...)
			}
		}
	}
}

// breakSymmetry breaks the symmetry between interchangeable chunks.
func (e *chunkEncoding) breakSymmetry() {
	p := e.p
	for _, class := range p.classes {
		it := &p.items[class[0]]
		mark := -1 // a rank that all of them must reach
		for _, r := range it.destinations() {
			if mark < 0 || p.net.dist[it.source][r] < p.net.dist[it.source][mark] {
				mark = r
			}
		}
		if mark < 0 {
			continue
		}
		for i := 1; i < len(class); i++ {
			a := e.has[class[i-1]*p.net.ranks+mark]
			b := e.has[class[i]*p.net.ranks+mark]
			for t := range a {
				if a[t] != constraints.True && b[t] != constraints.False {
					e.f.Clause(b[t].Not(), a[t])
				}
			}
		}
	}
}

func (e *chunkEncoding) schedule(model []bool) Schedule {
	p := e.p
	s := make(Schedule, p.Steps)
	for t := range s {
		s[t].Rounds = e.rounds[t].Value(model)
		for x := range p.items {
			for i, l := range p.net.lanes {
				if sent := e.sent[x*len(p.net.lanes)+i][t]; sent != constraints.False && model[sent-1] {
					s[t].Sends = append(s[t].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
				}
			}
		}
	}
	return p.prune(s)
}
