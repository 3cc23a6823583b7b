package constraints

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// Where rings compete for a few links only, such as the host between two halves of
// a box or a NIC, an order matters only by how often it takes each of these.
// Orders that agree in that form a kind. There are few kinds, so it is quick to
// try how many rings to take of each:
//
//	kind                     host ─▶   host ◀─   NIC      room for 4, 4, 8
//	0 1 2 3 │ 4 5 6 7           1         0       1        ▶ 4 rings
//	4 5 6 7 │ 0 1 2 3           0         1       1        ▶ 4 rings
//
// Solvers could only find that by trying (the pigeonhole principle).

const (
	// countedRanks is the largest node, in ranks, of which all orders are
	// enumerated.
	countedRanks = 8
	// fewRanks is the largest node for which that is feasible even if no links are
	// shared.
	fewRanks = 6
	// mostKinds limits the kinds, and mostWork the number of times a kind is
	// tested against the room that is left.
	mostKinds = 1 << 10
	mostWork  = 1 << 22
)

// ringKinds groups the orders of a node by how often they take the links that are
// scarce, those that not all rings can take.
type ringKinds struct {
	p      *ringProblem
	limits []int       // the scarce edges
	room   []uint16    // by limit: how often rings may take it
	at     map[int]int // by edge: its index in limits
	kinds  []ringKind  // sorted by their first orders
	least  []ringKind  // kinds that no other kind is better than
	known  map[string]bool
	work   int
}

// ringKind is the lexicographically first order of a kind, and how often it takes
// each limit.
type ringKind struct {
	order []int
	takes []uint16
}

// askByCounts decides whether there are orders of at least a width, and returns
// the first such set. settled is false if this method can't tell.
func (p *ringProblem) askByCounts(width units.Bandwidth) (orders [][]int, settled bool) {
	if p.n > countedRanks || p.n < 2 {
		return nil, false
	}
	c := &ringKinds{p: p, at: map[int]int{}, known: map[string]bool{}}
	if !c.limit(width) && p.n > fewRanks || !c.walk(width) {
		return nil, false
	}
	room := slices.Clone(c.room)
	fits := c.canHold(room, p.count)
	for left := p.count; fits && left > 0; left-- {
		i := slices.IndexFunc(c.kinds, func(k ringKind) bool {
			rest, fits := k.without(room)
			return fits && c.canHold(rest, left-1)
		})
		if i < 0 {
			return nil, false // the work exceeded its limit
		}
		room, _ = c.kinds[i].without(room)
		orders = append(orders, slices.Clone(c.kinds[i].order))
	}
	return orders, c.work <= mostWork
}

// limit lists the scarce edges. It returns false if all steps are direct links
// between GPUs: there are many of those, and so as many kinds.
func (c *ringKinds) limit(width units.Bandwidth) (shared bool) {
	for _, table := range [][][]*hop{c.p.in, c.p.close} {
		for _, row := range table {
			for _, h := range row {
				if h == nil {
					continue
				}
				shared = shared || len(h.edges) > 1
				for _, e := range h.edges {
					room := c.p.capacity(e, width)
					if _, known := c.at[e]; known || room >= c.p.mostTaken(e) || room < 1 {
						continue
					}
					c.at[e] = len(c.limits)
					c.limits, c.room = append(c.limits, e), append(c.room, uint16(room))
				}
			}
		}
	}
	return shared
}

// walk enumerates all orders and collects their kinds. It returns false if there
// are too many.
func (c *ringKinds) walk(width units.Bandwidth) bool {
	w := orderWalk{ringKinds: c, width: width, takes: make([]uint16, len(c.limits)), used: make([]bool, c.p.n), seen: map[string]bool{}}
	for first := range c.p.n {
		if first > 0 && c.p.closed() {
			break // a closed ring may start anywhere, so rank 0 goes first
		}
		w.used[first], w.order = true, append(w.order[:0], first)
		if !w.extend() {
			return false
		}
		w.used[first] = false
	}
	for _, k := range c.kinds {
		if !slices.ContainsFunc(c.kinds, func(o ringKind) bool { return o.better(k) }) {
			c.least = append(c.least, k)
		}
	}
	return true
}

// orderWalk extends an order rank by rank, in all ways there are.
type orderWalk struct {
	*ringKinds
	width units.Bandwidth
	order []int
	used  []bool   // by rank: it is in the order
	takes []uint16 // by limit: how often the order takes it
	seen  map[string]bool
	key   []byte // of takes, for seen
}

// take adds a step to what the order takes, or, where by is its negation, removes it.
func (w *orderWalk) take(h *hop, by uint16) {
	for _, e := range h.edges {
		if at, ok := w.at[e]; ok {
			w.takes[at] += by
		}
	}
}

// extend tries all ranks that may follow. It returns false if there are too many
// kinds.
func (w *orderWalk) extend() bool {
	if len(w.order) == w.p.n {
		return w.close()
	}
	for i, h := range w.p.in[w.order[len(w.order)-1]] {
		if h == nil || w.used[i] || !w.p.wide(h, w.width) {
			continue
		}
		w.used[i], w.order = true, append(w.order, i)
		w.take(h, 1)
		ok := w.extend()
		w.take(h, ^uint16(0))
		w.used[i], w.order = false, w.order[:len(w.order)-1]
		if !ok {
			return false
		}
	}
	return true
}

// close adds the step that closes the ring, and keeps the order if it is the first
// of its kind.
func (w *orderWalk) close() bool {
	h := w.p.close[w.order[len(w.order)-1]][w.order[0]]
	if h == nil || !w.p.wide(h, w.width) {
		return true
	}
	w.take(h, 1)
	w.key = w.key[:0]
	for _, t := range w.takes {
		w.key = binary.AppendUvarint(w.key, uint64(t))
	}
	if !w.seen[string(w.key)] {
		w.seen[string(w.key)] = true
		w.kinds = append(w.kinds, ringKind{slices.Clone(w.order), slices.Clone(w.takes)})
	}
	w.take(h, ^uint16(0))
	return len(w.kinds) <= mostKinds
}

// better tells whether a kind takes no link more often than another, and some link
// less often.
func (k ringKind) better(o ringKind) bool {
	for e, t := range k.takes {
		if t > o.takes[e] {
			return false
		}
	}
	return !slices.Equal(k.takes, o.takes)
}

// without is the room left after a ring of this kind, if it fits.
func (k ringKind) without(room []uint16) (rest []uint16, fits bool) {
	rest = slices.Clone(room)
	for e, t := range k.takes {
		if t > rest[e] {
			return nil, false
		}
		rest[e] -= t
	}
	return rest, true
}

// canHold tells whether so many more rings fit into the room.
func (c *ringKinds) canHold(room []uint16, rings int) bool {
	if rings == 0 {
		return true
	}
	key := fmt.Sprint(rings, room)
	if can, ok := c.known[key]; ok {
		return can
	}
	can := false
	for _, k := range c.least {
		if c.work++; c.work > mostWork {
			return false
		}
		if rest, fits := k.without(room); fits && c.canHold(rest, rings-1) {
			can = true
			break
		}
	}
	c.known[key] = can
	return can
}
