package route

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A routing of chunks that are copied is a branching for each of them. Of those that
// tolls have brought to light, one is picked for each chunk, and another put in its
// place as long as links are too full, in rounds that are split in a way that mixes
// fit in fractions (simulated annealing):
//
//	chunk 0 of rank 0   branching 17
//	chunk 0 of rank 1   branching 4 of rank 0's, renamed       what each link carries in
//	…                                                          each step beyond its room
//
// It refutes nothing, and looks at no clock but to give up.

// manyPicks is after how many changes a pick is begun anew, and manyNoised how many
// branchings about as cheap as the best are sought beforehand.
const (
	manyPicks  = 400_000
	manyNoised = 60
)

// annealed is a pick of branchings in the making.
type annealed struct {
	room  []int32 // by link × steps + step
	load  []int32 // as room
	ways  [][]way // by class: to pick from
	class []int   // by item
	picks []int   // by item
	over  int     // chunks beyond room, over all links
}

// way is a branching as it is renamed for a class.
type way struct {
	of    int // which of the stem's
	moved int
	fill  []int32 // what it fills of room, a chunk each
	upto  float64 // the shares in the best mix of it and those before it
}

// mix picks branchings for a split of rounds; nil where none are found.
func (b *branches) mix(p *problem, split []int, over func() bool) Schedule {
	chance := rand.New(rand.NewPCG(3, 3))
	b.vary(split, chance, over)
	if over() {
		return nil
	}
	a := b.annealed(p, split)
	for !over() {
		a.restart(chance)
		for turn := 0; turn < manyPicks && (turn%4096 > 0 || !over()); turn++ {
			if a.over == 0 {
				return b.scheduled(p, split, a)
			}
			b.sums += a.turn(chance, 2*math.Exp(-6*float64(turn)/manyPicks))
		}
	}
	return nil
}

// vary seeks branchings that are about as cheap as the best, by tolls that are a
// little off, where what is free costs a little too.
func (b *branches) vary(split []int, chance *rand.Rand, over func() bool) {
	for range manyPriced {
		if over() {
			return
		}
		tolls, _ := b.set(split)
		if tolls == nil {
			return
		}
		if _, news := b.cut(tolls, over); !news {
			break
		}
	}
	tolls, _ := b.set(split)
	if tolls == nil || over() {
		return
	}
	most := slices.Max(tolls)
	for try := range manyNoised {
		if over() || b.known() > manyBranchings {
			return
		}
		noised := make([]int64, len(tolls))
		for i, x := range tolls {
			x += most * 0.02 * float64(1+try%5) * chance.Float64()
			noised[i] = int64(x/most*1000*(0.9+0.2*chance.Float64())) + 1
		}
		b.price(noised, over)
	}
	b.set(split)
}

// annealed lists what branchings fill of links, for each class. Those of the best
// mix are picked the more often.
func (b *branches) annealed(p *problem, split []int) *annealed {
	b.move()
	net := p.net
	a := &annealed{room: make([]int32, len(net.links)*b.steps), picks: make([]int, len(p.items)), class: make([]int, len(p.items)), ways: make([][]way, len(p.classes))}
	a.load = make([]int32, len(a.room))
	tight := make([]bool, len(net.links))
	for _, e := range net.tight() {
		tight[e] = true
		for t, n := range split {
			a.room[int(e)*b.steps+t] = int32(net.links[e].capacity * n)
		}
	}
	for c, class := range p.classes {
		s, upto := b.stems[b.stemOf[c]], 0.0
		for i, br := range s.all {
			share := 1e-3 / float64(len(s.all))
			if i < len(s.share) {
				share += s.share[i]
			}
			for m, lanes := range b.moved[c] {
				w := way{of: i, moved: m}
				for _, h := range br {
					for _, e := range net.lanes[lanes[h.lane]].links {
						if tight[e] {
							w.fill = append(w.fill, e*int32(b.steps)+int32(h.step))
						}
					}
				}
				upto += share
				w.upto = upto
				a.ways[c] = append(a.ways[c], w)
			}
		}
		for _, x := range class {
			a.class[x] = c
		}
	}
	return a
}

// draw picks a way for an item.
func (a *annealed) draw(x int, chance *rand.Rand) int {
	ways := a.ways[a.class[x]]
	if chance.IntN(8) == 0 {
		return chance.IntN(len(ways))
	}
	at, _ := slices.BinarySearchFunc(ways, chance.Float64()*ways[len(ways)-1].upto, func(w way, upto float64) int { return cmp.Compare(w.upto, upto) })
	return min(at, len(ways)-1)
}

// restart picks branchings by chance.
func (a *annealed) restart(chance *rand.Rand) {
	clear(a.load)
	a.over = 0
	for x := range a.picks {
		a.picks[x] = a.draw(x, chance)
		a.over += a.put(a.ways[a.class[x]][a.picks[x]].fill)
	}
}

// put adds a branching's chunks, and tells how many are beyond room.
func (a *annealed) put(fill []int32) (more int) {
	for _, at := range fill {
		if a.load[at]++; a.load[at] > a.room[at] {
			more++
		}
	}
	return more
}

// drop takes them away.
func (a *annealed) drop(fill []int32) (less int) {
	for _, at := range fill {
		if a.load[at] > a.room[at] {
			less++
		}
		a.load[at]--
	}
	return less
}

// turn puts a branching in the place of another, unless that costs more than heat
// has it. It tells how much was added up.
func (a *annealed) turn(chance *rand.Rand, heat float64) int {
	x := chance.IntN(len(a.picks))
	now, ways := a.draw(x, chance), a.ways[a.class[x]]
	was, is := ways[a.picks[x]].fill, ways[now].fill
	change := a.put(is) - a.drop(was)
	if change <= 0 || chance.Float64() < math.Exp(-float64(change)/heat) {
		a.picks[x] = now
		a.over += change
	} else {
		a.put(was)
		a.drop(is)
	}
	return 4 * (len(was) + len(is))
}

// scheduled is the routing that picks are.
func (b *branches) scheduled(p *problem, split []int, a *annealed) Schedule {
	s := make(Schedule, b.steps)
	for t := range s {
		s[t].Rounds = split[t]
	}
	for c, class := range p.classes {
		for _, x := range class {
			w := a.ways[c][a.picks[x]]
			for _, h := range b.stems[b.stemOf[c]].all[w.of] {
				l := p.net.lanes[b.moved[c][w.moved][h.lane]]
				s[h.step].Sends = append(s[h.step].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
			}
		}
	}
	return s
}
