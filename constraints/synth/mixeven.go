package synth

import (
	"math"
	"slices"
)

// The linear program that sets the tolls also tells which courses go well
// together: it mixes them in fractions, and splits a round among the steps. So
// before courses are picked for arbitrary splits of the rounds, they are picked
// for those splits nearest to its own, favouring the courses of its mix. For a
// fixed split it is enough that no link is overloaded, which can be checked
// incrementally.

// pickEven picks courses in this way, with half of the additions that are left.
func (m *mixing) pickEven(p *problem, group []automorphism, a *annealing) Schedule {
	whole := m.limit
	defer func() { m.limit = whole }()
	m.limit = m.sums + (whole-m.sums)/2
	if !m.raise() {
		return nil
	}
	b := &annealed{room: make([]int32, len(a.width)), load: make([]int32, len(a.width)), ways: [][]way{m.ways(a.fills)},
		class: make([]int, len(a.picks)), picks: a.picks}
	splits := nearly(m.ideal, p.Rounds)
	for _, split := range splits[:min(len(splits), manyFit)] {
		half := m.limit
		m.limit = m.sums + (half-m.sums)/2 // the nearest split is the likeliest, so it gets the most
		for at, width := range a.width {
			b.room[at] = int32(width * split[at%m.steps])
		}
		if m.settle(b, a) {
			clear(a.load)
			for _, j := range a.picks {
				a.put(j, 1)
			}
			return m.schedule(p, group, a)
		}
		m.limit = half
	}
	return nil
}

// ways lists the courses to pick from, with what they load.
func (m *mixing) ways(fills [][]filled) (ways []way) {
	upto := 0.0
	for j, fill := range fills {
		w := way{of: j}
		for _, f := range fill {
			w.fill = append(w.fill, slices.Repeat([]int32{int32(f.at)}, f.chunks)...)
		}
		upto += m.share[j] + 1e-3/float64(len(fills))
		w.upto = upto
		ways = append(ways, w)
	}
	return ways
}

// settle replaces picks until no link is overloaded, starting over from time to
// time.
func (m *mixing) settle(b *annealed, a *annealing) bool {
	turns := min(manyPicks, manyTurns/fewPicked*len(b.picks))
	for !m.over() {
		b.restart(a.chance)
		for turn := 0; turn < turns && (turn%4096 > 0 || !m.over()); turn++ {
			if b.over == 0 {
				return true
			}
			m.sums += b.turn(a.chance, 2*math.Exp(-6*float64(turn)/float64(turns)))
		}
	}
	return false
}
