package verify

import (
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// paths decides whether one step happens before another by a path of program
// order, messages and dependencies through any GPU. A short search backwards
// settles most questions; what it does not is kept, and settled 64 at a time
// in one walk over the steps in between.
type paths struct {
	c     *checker
	level []int32 // length of the longest path to a step
	seen  []int32 // the question that last visited a step
	asked int32
	queue []int32
	open  []question
	work  int64
}

// question is whether a happens before b; both access place of their GPU.
type question struct {
	a, b  int32
	place ir.Loc
}

// shortSearch is how many steps a search backwards looks at before the question
// is left for later.
const shortSearch = 512

// mostOpen bounds the questions kept.
const mostOpen = 1 << 20

func newPaths(c *checker) *paths { return &paths{c: c} }

// before calls f for every step that directly precedes s.
func (p *paths) before(s int32, f func(int32)) {
	c := p.c
	t := c.stepTB[s]
	if s > c.first[t] {
		f(s - 1)
	}
	if from := c.from[s]; from >= 0 {
		f(from)
	}
	g := c.tbGPU[t]
	for _, d := range c.step(s).Deps {
		f(c.met(g, d))
	}
}

// prepare finds the levels, when the first question is asked.
func (p *paths) prepare() {
	p.level = make([]int32, len(p.c.order))
	p.seen = make([]int32, len(p.c.order))
	for _, s := range p.c.order {
		level := int32(0)
		p.before(s, func(a int32) { level = max(level, p.level[a]+1) })
		p.level[s] = level
	}
}

// order searches backwards from b for a, or for a later step of a's
// threadblock, and gives the one found. Where the search would be long, the
// question is kept open and a is given.
func (p *paths) order(a, b int32, place ir.Loc) int32 {
	if p.level == nil {
		p.prepare()
	}
	p.asked++
	end := p.c.first[p.c.stepTB[a]+1]
	level, pos := p.level[a], p.c.pos[a]
	p.queue = append(p.queue[:0], b)
	found := int32(-1)
	visit := func(s int32) {
		switch {
		case p.seen[s] == p.asked || found >= 0:
		case s >= a && s < end:
			found = s
		case p.level[s] > level && p.c.pos[s] > pos:
			p.seen[s] = p.asked
			p.queue = append(p.queue, s)
		}
	}
	for i := 0; i < len(p.queue); i++ {
		if i == p.c.search {
			p.open = append(p.open, question{a, b, place})
			if len(p.open) == mostOpen {
				p.settle()
			}
			return a
		}
		if p.before(p.queue[i], visit); found >= 0 {
			return found
		}
	}
	p.race(question{a, b, place})
	return a
}

// settle answers the open questions. Each group of 64 first steps has a bit
// each, which spreads along the order as far as the last second step.
func (p *paths) settle() {
	open := p.open
	p.open = p.open[:0]
	if len(open) == 0 {
		return
	}
	c := p.c
	slices.SortStableFunc(open, func(x, y question) int { return int(c.pos[x.a] - c.pos[y.a]) })
	reach := make([]uint64, len(c.order))
	for len(open) > 0 {
		n, bits, last := 0, 0, int32(0)
		for n < len(open) {
			if n == 0 || open[n].a != open[n-1].a {
				if bits == 64 {
					break
				}
				bits++
			}
			last = max(last, c.pos[open[n].b])
			n++
		}
		if !p.spread(open[:n], last, reach) {
			c.r.at(Limit, Error, -1, -1, -1, "the order of %d conflicting accesses takes too long to decide", len(open))
			return
		}
		open = open[n:]
	}
}

// spread answers one group, using reach as scratch.
func (p *paths) spread(group []question, last int32, reach []uint64) bool {
	c := p.c
	start := c.pos[group[0].a]
	if p.work += int64(last - start); p.work > raceWork {
		return false
	}
	window := c.order[start : last+1]
	for _, s := range window {
		reach[s] = 0
	}
	bit := map[int32]uint64{}
	for _, q := range group {
		if bit[q.a] == 0 {
			bit[q.a] = 1 << len(bit)
			reach[q.a] = bit[q.a]
		}
	}
	for _, s := range window {
		r := reach[s]
		p.before(s, func(a int32) {
			if c.pos[a] >= start {
				r |= reach[a]
			}
		})
		reach[s] = r
	}
	for _, q := range group {
		if reach[q.b]&bit[q.a] == 0 {
			p.race(q)
		}
	}
	return true
}

// race reports a question whose answer is no.
func (p *paths) race(q question) {
	g, t, s := p.c.where(q.b)
	_, u, r := p.c.where(q.a)
	p.c.r.at(Race, Error, g, t, s, "%s and %s of threadblock %d step %d both access %s[%d], and nothing orders them",
		describe(p.c.step(q.b)), describe(p.c.step(q.a)), u, r, q.place.Buf, q.place.Off)
}
