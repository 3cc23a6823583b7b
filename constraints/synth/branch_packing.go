package synth

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A fractional solution of the linear program (branch_prices.go) is rounded by simulated
// annealing: a branching is picked for each chunk, those with a large share more often, and
// picks are replaced as long as links are overloaded:
//
//	chunk 0 of rank 0   branching 17
//	chunk 0 of rank 1   branching 4 of rank 0's, its image     what each link carries in
//	…                                                          each step beyond its room
//
// This refutes nothing. It looks at the clock only to give up.

const (
	// annealingTurns is after how many changes the annealing starts over, and noisedPrices how
	// many branchings of nearly the least cost are looked for first.
	annealingTurns = 400_000
	noisedPrices   = 60
	// maxImages limits the automorphisms by which a class can follow from its orbit.
	maxImages = 16
)

type annealing struct {
	room  []int32 // by link × steps + step
	load  []int32 // indexed like room
	ways  [][]way // by class: the branchings to pick from
	class []int   // by item
	picks []int   // by item
	over  int     // chunks above room, summed over links
}

// way is a branching, renamed for a class.
type way struct {
	of    int // its index among the orbit's
	image int
	fill  []int32 // indices of room that it loads with a chunk each
	upto  float64 // cumulative share in the best fractional solution, for drawing
}

// packSplit picks branchings for a split of the rounds, or returns nil if it finds none.
func (b *pricing) packSplit(p *problem, split []int, over func() bool) Schedule {
	chance := rand.New(rand.NewPCG(3, 3))
	b.vary(split, chance, over)
	if over() {
		return nil
	}
	a := b.newAnnealing(p, split)
	for !over() {
		a.restart(chance)
		for turn := 0; turn < annealingTurns && (turn%4096 > 0 || !over()); turn++ {
			if a.over == 0 {
				return b.scheduled(p, split, a)
			}
			b.additions += a.turn(chance, 2*math.Exp(-6*float64(turn)/annealingTurns))
		}
	}
	return nil
}

// vary looks for branchings of nearly the least cost, by perturbing the prices;
// lanes without a price get a small one.
func (b *pricing) vary(split []int, chance *rand.Rand, over func() bool) {
	for range maxSolved {
		if over() {
			return
		}
		prices, _ := b.solveLP(split)
		if prices == nil {
			return
		}
		if _, news := b.cut(prices, over); !news {
			break
		}
	}
	prices, _ := b.solveLP(split)
	if prices == nil || over() {
		return
	}
	most := slices.Max(prices)
	for try := range noisedPrices {
		if over() || b.columns() > maxBranchings {
			return
		}
		noised := make([]int64, len(prices))
		for i, x := range prices {
			x += most * 0.02 * float64(1+try%5) * chance.Float64()
			noised[i] = int64(x/most*1000*(0.9+0.2*chance.Float64())) + 1
		}
		b.generate(noised, over)
	}
	b.solveLP(split)
}

// newAnnealing lists the branchings of each class with the links they load. Those with
// a large share in the best fractional solution are picked more often.
func (b *pricing) newAnnealing(p *problem, split []int) *annealing {
	b.findImages()
	net := p.net
	a := &annealing{room: make([]int32, len(net.links)*b.steps), picks: make([]int, len(p.items)), class: make([]int, len(p.items)), ways: make([][]way, len(p.classes))}
	a.load = make([]int32, len(a.room))
	tight := make([]bool, len(net.links))
	for _, e := range net.undominated() {
		tight[e] = true
		for t, n := range split {
			a.room[int(e)*b.steps+t] = int32(net.links[e].capacity * n)
		}
	}
	for c, class := range p.classes {
		a.ways[c] = b.ways(p, c, tight)
		for _, x := range class {
			a.class[x] = c
		}
	}
	return a
}

// ways lists the branchings of a class with the tight links that they load, and the
// shares by which they are drawn.
func (b *pricing) ways(p *problem, class int, tight []bool) (all []way) {
	s, upto := b.orbits[b.orbitOf[class]], 0.0
	for i, br := range s.all {
		share := 1e-3 / float64(len(s.all))
		if i < len(s.share) {
			share += s.share[i]
		}
		for m, lanes := range b.images[class] {
			upto += share
			w := way{of: i, image: m, upto: upto}
			for _, h := range br {
				for _, e := range p.net.lanes[lanes[h.lane]].links {
					if tight[e] {
						w.fill = append(w.fill, e*int32(b.steps)+int32(h.step))
					}
				}
			}
			all = append(all, w)
		}
	}
	return all
}

// draw picks a way for item x at random.
func (a *annealing) draw(x int, chance *rand.Rand) int {
	ways := a.ways[a.class[x]]
	if chance.IntN(8) == 0 {
		return chance.IntN(len(ways))
	}
	at, _ := slices.BinarySearchFunc(ways, chance.Float64()*ways[len(ways)-1].upto, func(w way, upto float64) int { return cmp.Compare(w.upto, upto) })
	return min(at, len(ways)-1)
}

// restart picks all branchings anew.
func (a *annealing) restart(chance *rand.Rand) {
	clear(a.load)
	a.over = 0
	for x := range a.picks {
		a.picks[x] = a.draw(x, chance)
		a.over += a.put(a.ways[a.class[x]][a.picks[x]].fill)
	}
}

// put adds a branching's load, and returns how much of it exceeds room.
func (a *annealing) put(fill []int32) (more int) {
	for _, at := range fill {
		if a.load[at]++; a.load[at] > a.room[at] {
			more++
		}
	}
	return more
}

// drop removes a branching's load, and returns how much of it exceeded room.
func (a *annealing) drop(fill []int32) (less int) {
	for _, at := range fill {
		if a.load[at] > a.room[at] {
			less++
		}
		a.load[at]--
	}
	return less
}

// turn replaces one pick by another, unless the result is worse than heat allows.
// It returns the number of additions.
func (a *annealing) turn(chance *rand.Rand, heat float64) int {
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

// scheduled turns the picks into a routing.
func (b *pricing) scheduled(p *problem, split []int, a *annealing) Schedule {
	s := make(Schedule, b.steps)
	for t := range s {
		s[t].Rounds = split[t]
	}
	for c, class := range p.classes {
		for _, x := range class {
			w := a.ways[c][a.picks[x]]
			for _, h := range b.orbits[b.orbitOf[c]].all[w.of] {
				l := p.net.lanes[b.images[c][w.image][h.lane]]
				s[h.step].Sends = append(s[h.step].Sends, Send{Item: x, From: int(l.from), To: int(l.to)})
			}
		}
	}
	return s
}

// findImages lists the automorphisms of an orbit's lanes for each class: all of them, or as
// many as are found first.
func (b *pricing) findImages() {
	if b.images != nil {
		return
	}
	p := b.one
	b.images = make([][][]int32, len(p.classes))
	for _, s := range b.orbits {
		type place struct {
			class int
			lanes []int32
		}
		same := make([]int32, len(p.net.lanes))
		for l := range same {
			same[l] = int32(l)
		}
		b.images[s.class] = [][]int32{same}
		for queue := []place{{s.class, same}}; len(queue) > 0; queue = queue[1:] {
			for _, r := range p.automorphisms() {
				to, lanes := r.classes[queue[0].class], make([]int32, len(same))
				for l, at := range queue[0].lanes {
					lanes[l] = r.lanes[at]
				}
				if len(b.images[to]) < maxImages && !slices.ContainsFunc(b.images[to], func(o []int32) bool { return slices.Equal(o, lanes) }) {
					b.images[to] = append(b.images[to], lanes)
					queue = append(queue, place{to, lanes})
				}
			}
		}
	}
}
