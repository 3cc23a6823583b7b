package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/solver"
)

// A routing of many chunks can be a mix of courses of single chunks, if these load
// the links evenly. So thousands of courses on which a chunk can be summed are
// gathered, those of little cost first. As many of them are picked as there are
// chunks (or as stand for all chunks by automorphism), and then one after another is
// replaced, as long as that leads to fewer rounds (simulated annealing):
//
//	course 17   step 1  0 ─▶ 1  3 ─▶ 2  …        rounds of a step: the most that a link
//	course 17   and its three likes              of any kind then carries, over its
//	course 402  …                                capacity
//
// This refutes nothing. It looks at the clock only to give up: what is found
// depends on the number of additions, which is the same on every machine.

// mixing is a set of courses, with a limit on the additions made in search of a
// mix.
type mixing struct {
	*tollkeeper
	ask   solveBudget
	limit int // current limit on additions
}

const (
	// manyMixed limits the courses that are gathered; gathering also ends after
	// manyVain attempts in a row without a new one. Between fewPicked and
	// manyPicked of them are picked: if fewer stand for all chunks, a solver can
	// look for such a routing quickly.
	manyMixed  = 3000
	manyVain   = 3000
	fewPicked  = 4
	manyPicked = 96
	// mixingShare is the part of a query's time, one in so many, that this may
	// take, and sumsPerSecond how many additions count as a second.
	mixingShare   = 4
	sumsPerSecond = 500_000_000
	// firstSums limits the additions of the first attempt.
	firstSums = 5_000_000_000
	// dearer is how much more than the cheapest a course may cost to be gathered.
	dearer = 1.05
)

// mixed returns a routing of sums that is a mix of courses, or nil if none was
// found.
func (p *problem) mixed(s *solver.Pool, ask solveBudget) (Schedule, error) {
	h := p.hears(p.Steps)
	if h == nil || len(p.classes) != 1 || p.Collective.Name != "allreduce" || len(h.width) == 0 || !h.enough(h.everything()) {
		return nil, nil
	}
	groups := p.sharings(len(p.items))
	if n := len(p.items) / len(groups[0]); n < fewPicked || n > manyPicked {
		return nil, nil
	}
	groups = slices.DeleteFunc(groups[:min(2, len(groups))], func(g []automorphism) bool { return len(p.items)/len(g) > manyPicked })
	limit := s.Timeout()
	if ask.meter != nil {
		limit = ask.left()
	}
	m := &mixing{tollkeeper: newTollkeeper(h), ask: ask}
	budget := int(limit.Seconds() * sumsPerSecond / mixingShare)
	defer m.charge()
	known := ask.gathered[p.Steps]
	if known != nil {
		h.chance, known.hearing = known.chance, h // the context of known may have ended
		m.tollkeeper, known.sums = known, 0
	}
	// The first stage is the same for everybody, so that those with more time find
	// what others find; what is left of the time goes to other courses.
	for stage := min(budget, firstSums); ; stage = budget {
		if known == nil || stage > firstSums {
			m.limit = m.sums + (stage-m.sums)/3
			m.gather()
			if ask.gathered != nil && ask.left() > 0 {
				ask.gathered[p.Steps] = m.tollkeeper
			}
		}
		for i, group := range groups {
			m.limit = m.sums + (stage-m.sums)/(len(groups)-i)
			if s := m.pick(p, group); s != nil {
				return s, nil
			}
		}
		if stage == budget {
			break
		}
	}
	return nil, ask.ctx.Err()
}

// charge adds what the additions cost to the meter.
func (m *mixing) charge() {
	if m.ask.meter != nil {
		m.ask.meter.done += time.Duration(float64(m.sums) / sumsPerSecond * float64(time.Second))
	}
}

// over reports whether the additions or the time are used up.
func (m *mixing) over() bool {
	return m.sums >= m.limit || m.ask.ctx.Err() != nil || m.ask.meter == nil && m.ask.left() <= 0
}

// gather finds courses on which a chunk can be summed and that pay little: in turn
// by the tolls for every rank hearing of every other, and by tolls that show what
// the courses found so far lack.
func (m *mixing) gather() {
	whole := m.limit
	m.limit = whole / 4
	for len(m.courses) < manyMixed/10 && !m.over() && m.search() && m.raise() {
	}
	m.limit = whole
	toll, value := slices.Clone(m.toll), m.value
	m.tollkeeper = &tollkeeper{hearing: m.hearing, toll: m.toll, seen: map[string]bool{}, value: m.value, sums: m.sums}
	lanes, short := m.lanes(), false
	for try, vain := 1, 0; len(m.courses) < manyMixed && vain < manyVain && !m.over(); try++ {
		if try%100 == 0 && len(m.courses) > 20 {
			if short = !short; !short || !m.raise() {
				m.toll, m.value = slices.Clone(toll), value
			}
			lanes = m.lanes()
		}
		c := m.drawn(try%4 == 0)
		if !m.enough(c) {
			continue
		}
		m.thin(c, lanes, []float64{0, 0.05, 0.1, 0.2, 0.5}[try%5])
		m.sums += len(c) * len(c)
		if vain++; m.cheap(c) && m.summed(c) != nil && m.take(c) {
			vain = 0
		}
	}
}

// drawn is a random set of lanes to thin out: most of all lanes, or those of two
// courses and some more.
func (m *mixing) drawn(between bool) course {
	c := m.everything()
	if n := len(m.courses); between && n > 1 {
		a, b := m.courses[m.chance.IntN(n)], m.courses[m.chance.IntN(n)]
		for i := range c {
			c[i] = a[i] || b[i] || m.chance.IntN(5) == 0
		}
		return c
	}
	for i := range c {
		c[i] = m.chance.IntN(10) > 0
	}
	return c
}

// cheap reports whether a course pays little more than the cheapest.
func (m *mixing) cheap(c course) bool {
	pays := 0.0
	for i, n := range m.loads(c) {
		pays += float64(n) * m.toll[i]
	}
	return pays <= m.value*dearer
}

// summed sums a chunk everywhere on a course, and returns the schedule. Whatever
// arrives is added if it has no contribution in common with what is there, and
// replaces it if it contains all of it. The result is nil if that does not work
// out.
func (h *hearing) summed(c course) Schedule {
	s := make(Schedule, h.steps)
	for r := range h.heard {
		h.heard[r] = 1 << r
	}
	for t := range h.steps {
		copy(h.next, h.heard)
		for r := range h.heard {
			all, apart, came := h.heard[r], true, 0
			last := uint64(0)
			for _, l := range h.p.net.in[r] {
				if c[int(l)*h.steps+t] {
					last = h.heard[h.p.net.lanes[l].from]
					apart = apart && all&last == 0
					all |= last
					came++
				}
			}
			if came == 0 {
				continue
			}
			if !apart && came > 1 {
				return nil
			}
			if h.next[r] = last; apart {
				h.next[r] = all
			}
			for _, l := range h.p.net.in[r] {
				if c[int(l)*h.steps+t] {
					s[t].Sends = append(s[t].Sends, Send{From: int(h.p.net.lanes[l].from), To: r, Reduce: apart})
				}
			}
		}
		h.heard, h.next = h.next, h.heard
	}
	for _, heard := range h.heard {
		if heard != h.whole {
			return nil
		}
	}
	return s
}

// filled is the load that a course, with its renamed copies, puts on each link of
// a kind in one step.
type filled struct{ at, chunks int }

// pick picks courses, each of which stands for its copies under a group of
// automorphisms.
func (m *mixing) pick(p *problem, group []automorphism) Schedule {
	if len(m.courses) == 0 {
		return nil
	}
	a := &annealing{steps: m.steps, picks: make([]int, len(p.items)/len(group)), chance: rand.New(rand.NewPCG(2, 2))}
	kinds := p.linksAlike(group)
	for _, links := range kinds {
		for range m.steps {
			a.width = append(a.width, p.net.links[links[0]].capacity)
		}
	}
	a.load = make([]int, len(a.width))
	for _, c := range m.courses {
		a.fills = append(a.fills, m.fills(c, group, kinds))
	}
	if s := m.pickEven(p, group, a); s != nil {
		return s
	}
	for !m.over() {
		a.restart()
		for turn := 0; turn < manyTurns && (turn%1024 > 0 || !m.over()); turn++ {
			a.turn(math.Exp(-float64(turn) / (manyTurns / 5)))
			m.sums += 2 * len(a.width)
			if a.rounds <= p.Rounds {
				return m.schedule(p, group, a)
			}
		}
	}
	return nil
}

// fills is the load of a course by kinds of links, as far as it is not 0.
func (m *mixing) fills(c course, group []automorphism, kinds [][]int) (fills []filled) {
	for k, links := range kinds {
		for t := range m.steps {
			passes := 0
			for _, e := range links {
				for _, l := range m.p.net.links[e].lanes {
					if c[int(l)*m.steps+t] {
						passes++
					}
				}
			}
			if passes > 0 { // its copies use all links of the kind evenly
				fills = append(fills, filled{k*m.steps + t, passes * len(group) / len(links)})
			}
		}
	}
	return fills
}

// schedule turns a mix of courses into a routing.
func (m *mixing) schedule(p *problem, group []automorphism, a *annealing) Schedule {
	s := make(Schedule, m.steps)
	for x, j := range a.picks {
		for t, step := range m.summed(m.courses[j]) {
			for _, one := range step.Sends {
				one.Item = x
				s[t].Sends = append(s[t].Sends, one)
			}
		}
	}
	rest := p.Rounds
	for t := range s {
		s[t].Rounds = a.step(t)
		rest -= s[t].Rounds
	}
	s[len(s)-1].Rounds += rest
	return s.likes(group)
}

// manyTurns is after how many changes the annealing starts over.
const manyTurns = 60_000

// annealing is the state of the annealing.
type annealing struct {
	steps  int
	width  []int      // by kind of link × steps + step
	fills  [][]filled // by course
	load   []int      // indexed like width
	picks  []int      // indices of courses
	rounds int
	cost   float64
	chance *rand.Rand
}

// restart picks all courses anew.
func (a *annealing) restart() {
	clear(a.load)
	for i := range a.picks {
		a.picks[i] = a.chance.IntN(len(a.fills))
		a.put(a.picks[i], 1)
	}
	a.rounds, a.cost = a.measure()
}

func (a *annealing) put(course, times int) {
	for _, f := range a.fills[course] {
		a.load[f.at] += times * f.chunks
	}
}

// turn replaces one course by another, unless the result is worse than heat
// allows.
func (a *annealing) turn(heat float64) {
	at, now := a.chance.IntN(len(a.picks)), a.chance.IntN(len(a.fills))
	was := a.picks[at]
	a.put(was, -1)
	a.put(now, 1)
	rounds, cost := a.measure()
	if cost <= a.cost || a.chance.Float64() < math.Exp((a.cost-cost)/heat) {
		a.picks[at], a.rounds, a.cost = now, rounds, cost
		return
	}
	a.put(now, -1)
	a.put(was, 1)
}

// measure returns the rounds of a mix, and its cost: above all the rounds, then
// the load of the fullest links of each step, then that of all links.
func (a *annealing) measure() (rounds int, cost float64) {
	for t := range a.steps {
		most, all := 0.0, 0.0
		for at := t; at < len(a.load); at += a.steps {
			full := float64(a.load[at]) / float64(a.width[at])
			most = max(most, full)
			all += full * full * full
		}
		n := max(1, int(math.Ceil(most-1e-9)))
		rounds += n
		cost += float64(n) + 0.3*most + 0.02*math.Cbrt(all)
	}
	return rounds, cost
}

// step is the number of rounds of a step.
func (a *annealing) step(t int) int {
	n := 1
	for at := t; at < len(a.load); at += a.steps {
		n = max(n, (a.load[at]+a.width[at]-1)/a.width[at])
	}
	return n
}
