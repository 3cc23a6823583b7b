package rings

import (
	"math/rand/v2"
	"slices"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// On a node of many GPUs with direct links, rings are found by local search. A flow
// gives, for each ring, a set of steps that leave and enter every rank once; but these
// may form several loops. If two ranks both have steps to the same two others, the
// steps can be exchanged between two rings, or between a ring and unused links, which
// can join loops:
//
//	ring F  a ─▶ b   c ─▶ d          ring F  a ─▶ d   c ─▶ b
//	ring G  a ─▶ d   c ─▶ b    ──▶   ring G  a ─▶ b   c ─▶ d
//
// Meshes, tori and hypercubes have many such squares. An exchange is made if it does
// not raise the number of loops, and otherwise once in worsenRate times. The random
// choices have a fixed seed and a limited number, so that every machine finds the same
// rings. If none are found, that proves nothing.
//
// If links go both ways, half as many rings are looked for first, each of which is
// also run in reverse (pairs.go).
type exchange struct {
	n     int
	out   [][]int32 // by rank: where it can step to
	room  []int16   // by step, from·n + to: how many more rings can take it
	rings []*loops
	draw  *rand.Rand
	pairs bool // a ring takes the links of its steps in both directions
}

// loops is the steps of one ring, in which every rank has one successor and one
// predecessor, but which may form several loops.
type loops struct {
	next, prev []int32
	loop       []int32 // by rank: the name of its loop
	labels     int32   // how many names have been given
	count      int
}

// Limits on the exchanges tried: for each rank of each ring, and in total.
const (
	exchangesPerStep = 1 << 14
	maxExchanges     = 1 << 25
)

// worsenRate: one in this many exchanges that raise the number of loops is accepted.
const worsenRate = 64

// findByExchange is findAtWidth for one node of more than maxPackedRanks. It returns
// nil if it finds no rings.
func (p *problem) findByExchange(width units.Bandwidth) [][]int {
	if p.n <= maxPackedRanks || !p.singleNode() {
		return nil
	}
	for _, pairs := range [2]bool{true, false} {
		x := p.exchange(width)
		if x == nil {
			return nil
		}
		x.pairs = pairs
		if !x.start(p.count) || !x.joinLoops() {
			continue
		}
		if orders := x.orders()[:p.count]; p.fitsWidth(orders, width) {
			return orders
		}
	}
	return nil
}

// orders returns the rings, each starting at rank 0, followed by their reverses if
// links are taken both ways.
func (x *exchange) orders() (orders [][]int) {
	for _, r := range x.rings {
		order := make([]int, 0, x.n)
		for i := int32(0); len(order) < x.n; i = r.next[i] {
			order = append(order, int(i))
		}
		orders = append(orders, order)
	}
	if x.pairs {
		for _, order := range orders[:len(x.rings)] {
			back := slices.Clone(order)
			slices.Reverse(back[1:])
			orders = append(orders, back)
		}
	}
	return orders
}

// exchange sets up the room on each step. It returns nil if steps share scarce links.
func (p *problem) exchange(width units.Bandwidth) *exchange {
	x := &exchange{n: p.n, out: make([][]int32, p.n), room: make([]int16, p.n*p.n), draw: rand.New(rand.NewPCG(1, 2))}
	taken := map[int]bool{}
	for i := range p.n {
		for j, h := range p.within[i] {
			if h == nil || i == j || !p.wide(h, width) {
				continue
			}
			room := p.count
			for _, e := range h.edges {
				capacity := p.capacity(e, width)
				if capacity >= p.maxUses(e) {
					continue
				}
				if taken[e] {
					return nil
				}
				taken[e] = true
				room = min(room, capacity)
			}
			if room > 0 {
				x.out[i] = append(x.out[i], int32(j))
				x.room[i*p.n+j] = int16(room)
			}
		}
	}
	return x
}

// start finds steps for count rings. It returns false if the links do not hold them.
func (x *exchange) start(count int) bool {
	if x.pairs {
		return x.startPairs((count + 1) / 2)
	}
	n := x.n
	g := maxflow.New(2*n + 2)
	arcs := map[int]int{} // by step
	for i := range n {
		g.Arc(2*n, i, int64(count))
		g.Arc(n+i, 2*n+1, int64(count))
		for _, j := range x.out[i] {
			at := i*n + int(j)
			arcs[at] = g.Arc(i, n+int(j), int64(x.room[at]))
		}
	}
	if g.MaxFlow(2*n, 2*n+1, int64(count*n)) < int64(count*n) {
		return false
	}
	// The flow is a regular bipartite multigraph, so by Kőnig's theorem it can be
	// divided into perfect matchings.
	left := make([]int16, n*n)
	for at, arc := range arcs {
		left[at] = int16(g.Flow(arc))
		x.room[at] -= left[at]
	}
	return x.divide(left, count)
}

// divide divides steps that leave and enter every rank count times into the steps
// of count rings.
func (x *exchange) divide(left []int16, count int) bool {
	for range count {
		r := x.matching(left)
		if r == nil {
			return false
		}
		x.rings = append(x.rings, r)
	}
	return true
}

// matching takes, from the steps that are left, one from every rank and one to every
// rank.
func (x *exchange) matching(left []int16) *loops {
	n := x.n
	r := &loops{next: make([]int32, n), prev: make([]int32, n), loop: make([]int32, n)}
	for i := range n {
		r.next[i], r.prev[i] = -1, -1
	}
	seen := make([]int, n)
	var give func(i int32, turn int) bool
	give = func(i int32, turn int) bool {
		for _, j := range x.out[i] {
			if left[int(i)*n+int(j)] == 0 || seen[j] == turn {
				continue
			}
			seen[j] = turn
			if r.prev[j] < 0 || give(r.prev[j], turn) {
				r.next[i], r.prev[j] = j, i
				return true
			}
		}
		return false
	}
	for i := range n {
		if !give(int32(i), i+1) {
			return nil
		}
	}
	for i, j := range r.next {
		left[i*n+int(j)]--
	}
	for i := range n {
		if r.loop[i] == 0 {
			r.relabel(int32(i))
			r.count++
		}
	}
	return r
}

// relabel gives the loop through rank i a new label.
func (r *loops) relabel(i int32) {
	r.labels++
	for j := i; r.loop[j] != r.labels; j = r.next[j] {
		r.loop[j] = r.labels
	}
}

// loopChange returns the change in the number of loops if steps a→b and c→d are
// replaced by a→d and c→b.
func (r *loops) loopChange(a, b, c, d int32) int {
	switch {
	case r == nil:
		return 0
	case r.loop[a] != r.loop[c]:
		return -1
	case (r.next[a] == b) == (r.next[c] == d):
		return 1
	}
	return 0
}

// exchange replaces steps a→b and c→d by a→d and c→b.
func (r *loops) exchange(a, b, c, d int32) {
	r.count += r.loopChange(a, b, c, d)
	there, alike := r.next[a] == b, (r.next[a] == b) == (r.next[c] == d)
	switch {
	case !alike && r.loop[a] != r.loop[c]:
		r.reverse(c, r.prev[c])
	case !alike && there: // a ─▶ b … d ─▶ c becomes a ─▶ d … b ─▶ c
		r.reverse(b, d)
		r.setStep(a, d)
		r.setStep(b, c)
		return
	case !alike: // b ─▶ a … c ─▶ d becomes b ─▶ c … a ─▶ d
		r.reverse(a, c)
		r.setStep(b, c)
		r.setStep(a, d)
		return
	}
	if there {
		r.setStep(a, d)
		r.setStep(c, b)
	} else {
		r.setStep(b, c)
		r.setStep(d, a)
	}
	r.relabel(a)
}

func (r *loops) setStep(from, to int32) { r.next[from], r.prev[to] = to, from }

// reverse reverses the steps on the path from one rank to another.
func (r *loops) reverse(from, to int32) {
	for i := from; ; {
		next := r.next[i]
		r.next[i], r.prev[i] = r.prev[i], next
		if i == to {
			return
		}
		i = next
	}
}

// joinLoops exchanges steps until every ring is a single loop. It returns false if it
// meets the limit.
func (x *exchange) joinLoops() bool {
	count := 0
	for _, r := range x.rings {
		count += r.count
	}
	for draws := min(maxExchanges, exchangesPerStep*x.n*len(x.rings)); count > len(x.rings); draws-- {
		if draws == 0 {
			return false
		}
		f := x.rings[x.draw.IntN(len(x.rings))]
		a := int32(x.draw.IntN(x.n))
		d := x.out[a][x.draw.IntN(len(x.out[a]))]
		c := f.prev[d]
		if x.pairs && x.draw.IntN(2) > 0 {
			c = f.next[d]
		}
		count += x.exchangeAt(f, a, c, d, func(more int) bool { return more <= 0 || x.draw.IntN(worsenRate) == 0 })
	}
	return true
}

// exchangeAt exchanges a ring's steps a→b, where b is a's successor, and c→d for a→d
// and c→b, if another ring has those or they are unused, and if well accepts the
// change in the number of loops, which it returns.
func (x *exchange) exchangeAt(f *loops, a, c, d int32, well func(more int) bool) (more int) {
	b := f.next[a]
	if a == c || b == c || b == d {
		return 0
	}
	g, has := x.holder(f, a, b, c, d)
	if !has {
		return 0
	}
	if more = f.loopChange(a, b, c, d) + g.loopChange(a, d, c, b); !well(more) {
		return 0
	}
	f.exchange(a, b, c, d)
	if g != nil {
		g.exchange(a, d, c, b)
		return more
	}
	x.addRoom(a, b, 1)
	x.addRoom(c, d, 1)
	x.addRoom(a, d, -1)
	x.addRoom(c, b, -1)
	return more
}

// addRoom changes the room on a step.
func (x *exchange) addRoom(from, to int32, by int16) {
	x.room[int(from)*x.n+int(to)] += by
	if x.pairs {
		x.room[int(to)*x.n+int(from)] += by
	}
}

// holder returns the ring that has the steps a→d and c→b, or nil if both have room
// left. has is false if neither is so.
func (x *exchange) holder(f *loops, a, b, c, d int32) (g *loops, has bool) {
	if x.room[int(a)*x.n+int(d)] > 0 && x.room[int(c)*x.n+int(b)] > 0 {
		return nil, true
	}
	for _, g := range x.rings {
		if g != f && x.has(g, a, d) && x.has(g, c, b) {
			return g, true
		}
	}
	return nil, false
}

// has reports whether a ring has a step, or its reverse if links are taken both
// ways.
func (x *exchange) has(r *loops, from, to int32) bool {
	return r.next[from] == to || x.pairs && r.prev[from] == to
}
