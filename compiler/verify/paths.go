package verify

import (
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// paths decides whether one step happens before another by a path of program
// order, messages and dependencies through any GPU. A short search from both
// ends answers most queries. The others are collected, and answered 64 first
// steps at a time in one walk over the steps in between.
type paths struct {
	c     *checker
	level []int32 // by step: length of the longest path to it

	// Direct successors of a step s other than the next of its threadblock: the
	// receive of its message, or -1; and the steps that its flag meets, which are
	// met[followers[s]:followers[s+1]].
	to        []int32
	followers []int32
	met       []int32

	query int32      // number of the current query
	seen  [2][]int32 // by step: the last query whose search from the end, or the start, visited it
	queue [2][]int32
	open  []query
	work  int64
}

// query asks whether a happens before b. Both access place of their GPU.
type query struct {
	a, b  int32
	place ir.Loc
}

// shortSearch is the number of steps that a search visits from either end
// before the query is left open.
const shortSearch = 1024

// maxOpen bounds the open queries.
const maxOpen = 1 << 20

// before calls f for every direct predecessor of s.
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

// after calls f for every direct successor of s.
func (p *paths) after(s int32, f func(int32)) {
	if s+1 < p.c.first[p.c.stepTB[s]+1] {
		f(s + 1)
	}
	if to := p.to[s]; to >= 0 {
		f(to)
	}
	for _, n := range p.met[p.followers[s]:p.followers[s+1]] {
		f(n)
	}
}

// prepare allocates the state of searches, at the first query.
func (p *paths) prepare() {
	c := p.c
	n := len(c.order)
	p.level, p.to, p.followers = make([]int32, n), fill(n, -1), make([]int32, n+1)
	p.seen = [2][]int32{make([]int32, n), make([]int32, n)}
	waits := 0
	for _, s := range c.order {
		level := int32(0)
		p.before(s, func(a int32) { level = max(level, p.level[a]+1) })
		p.level[s] = level
		if from := c.from[s]; from >= 0 {
			p.to[from] = s
		}
		for _, d := range c.step(s).Deps {
			p.followers[c.met(c.tbGPU[c.stepTB[s]], d)]++
			waits++
		}
	}
	for s := 1; s <= n; s++ {
		p.followers[s] += p.followers[s-1]
	}
	p.met = make([]int32, waits)
	for s := int32(n) - 1; s >= 0; s-- {
		for _, d := range c.step(s).Deps {
			met := c.met(c.tbGPU[c.stepTB[s]], d)
			p.followers[met]--
			p.met[p.followers[met]] = s
		}
	}
}

// order searches for a path from a to b from both ends. It returns a, or a
// later step of a's threadblock that also happens before b. If the search would
// be long, it leaves the query open and returns a.
func (p *paths) order(a, b int32, place ir.Loc) int32 {
	if p.level == nil {
		p.prepare()
	}
	const fromEnd, fromStart = 0, 1
	c := p.c
	p.query++
	end := c.first[c.stepTB[a]+1]
	found := int32(-1)
	// A step on a path from a to b lies between them in every order.
	between := func(s int32) bool {
		return c.pos[s] > c.pos[a] && c.pos[s] < c.pos[b] && p.level[s] > p.level[a] && p.level[s] < p.level[b]
	}
	visit := func(side int, s int32) {
		if found < 0 && p.seen[side][s] != p.query && between(s) {
			p.seen[side][s] = p.query
			p.queue[side] = append(p.queue[side], s)
			if p.seen[1-side][s] == p.query {
				found = a
			}
		}
	}
	backward := func(s int32) {
		if s >= a && s < end && found < 0 {
			found = s
		}
		visit(fromEnd, s)
	}
	forward := func(s int32) {
		if s == b && found < 0 {
			found = a
		}
		visit(fromStart, s)
	}
	p.queue[fromEnd] = append(p.queue[fromEnd][:0], b)
	p.queue[fromStart] = append(p.queue[fromStart][:0], a)
	for i := 0; i < len(p.queue[fromEnd]) && i < len(p.queue[fromStart]); i++ {
		if i >= c.search {
			p.open = append(p.open, query{a, b, place})
			if len(p.open) == maxOpen {
				p.resolve()
			}
			return a
		}
		p.before(p.queue[fromEnd][i], backward)
		p.after(p.queue[fromStart][i], forward)
		if found >= 0 {
			return found
		}
	}
	p.race(query{a, b, place})
	return a
}

// resolve answers the open queries, 64 first steps at a time: each has a bit,
// which is propagated along the order up to the last second step.
func (p *paths) resolve() {
	open := p.open
	p.open = p.open[:0]
	if len(open) == 0 {
		return
	}
	c := p.c
	slices.SortStableFunc(open, func(x, y query) int { return int(c.pos[x.a] - c.pos[y.a]) })
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
		if !p.propagate(open[:n], last, reach) {
			c.r.findingAt(Limit, Error, -1, -1, -1, "the order of %d conflicting accesses takes too long to decide", len(open))
			return
		}
		open = open[n:]
	}
}

// propagate answers one group, using reach as scratch.
func (p *paths) propagate(group []query, last int32, reach []uint64) bool {
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

// race reports a query whose answer is no.
func (p *paths) race(q query) {
	g, t, s := p.c.where(q.b)
	_, u, r := p.c.where(q.a)
	p.c.r.findingAt(Race, Error, g, t, s, "%s and %s of threadblock %d step %d both access %s[%d], and nothing orders them",
		describe(p.c.step(q.b)), describe(p.c.step(q.a)), u, r, q.place.Buf, q.place.Off)
}
