package rings

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// Where rings compete for a few links only, such as the host between two halves of
// a box or a NIC, all that matters about an order is how often it uses each of these.
// Orders that agree in that are of one kind. There are few kinds, so it is fast to try
// all numbers of rings of each kind:
//
//	kind                     host ─▶   host ◀─   NIC      capacity 4, 4, 8
//	0 1 2 3 │ 4 5 6 7           1         0       1        ▶ 4 rings
//	4 5 6 7 │ 0 1 2 3           0         1       1        ▶ 4 rings
//
// Solvers are bad at such questions: they are pigeonhole problems.

const (
	// maxCountedRanks is the largest node, in ranks, of which all orders are
	// enumerated.
	maxCountedRanks = 8
	// maxUnsharedRanks is the largest such node if no links are shared, because
	// there are then many kinds.
	maxUnsharedRanks = 6
	// maxKinds limits the kinds, and maxCountWork how often a kind is tested
	// against the capacity that is left.
	maxKinds     = 1 << 10
	maxCountWork = 1 << 22
)

// kindSet groups the orders of a node by how often they use each scarce link. A
// link is scarce if not all rings can use it.
type kindSet struct {
	p       *problem
	scarce  []int       // the scarce edges
	room    []uint16    // by limit: how often rings may take it
	index   map[int]int // by edge: its index in limits
	kinds   []kind      // sorted by their first orders
	minimal []kind      // kinds that no other kind is better than
	memo    map[string]bool
	work    int
}

// kind is the lexicographically first order of a kind, and how often it uses each
// scarce edge.
type kind struct {
	order []int
	uses  []uint16
}

// findByCounting is findAtWidth by kinds of orders. It returns the lexicographically
// first set of orders. settled is false if the method does not apply.
func (p *problem) findByCounting(width units.Bandwidth) (orders [][]int, settled bool) {
	if p.n > maxCountedRanks || p.n < 2 {
		return nil, false
	}
	c := &kindSet{p: p, index: map[int]int{}, memo: map[string]bool{}}
	if !c.findScarce(width) && p.n > maxUnsharedRanks || !c.enumerate(width) {
		return nil, false
	}
	room := slices.Clone(c.room)
	fits := c.canHold(room, p.count)
	for left := p.count; fits && left > 0; left-- {
		i := slices.IndexFunc(c.kinds, func(k kind) bool {
			rest, fits := k.without(room)
			return fits && c.canHold(rest, left-1)
		})
		if i < 0 {
			return nil, false // the work limit was met
		}
		room, _ = c.kinds[i].without(room)
		orders = append(orders, slices.Clone(c.kinds[i].order))
	}
	return orders, c.work <= maxCountWork
}

// findScarce lists the scarce edges. shared is false if all steps are direct links
// between GPUs: there are many of those, and therefore many kinds.
func (c *kindSet) findScarce(width units.Bandwidth) (shared bool) {
	for _, table := range [][][]*hop{c.p.within, c.p.closing} {
		for _, row := range table {
			for _, h := range row {
				if h == nil {
					continue
				}
				shared = shared || len(h.edges) > 1
				for _, e := range h.edges {
					room := c.p.capacity(e, width)
					if _, known := c.index[e]; known || room >= c.p.maxUses(e) || room < 1 {
						continue
					}
					c.index[e] = len(c.scarce)
					c.scarce, c.room = append(c.scarce, e), append(c.room, uint16(room))
				}
			}
		}
	}
	return shared
}

// enumerate enumerates all orders and collects their kinds. It returns false if there
// are too many kinds.
func (c *kindSet) enumerate(width units.Bandwidth) bool {
	w := orderSearch{kindSet: c, width: width, uses: make([]uint16, len(c.scarce)), used: make([]bool, c.p.n), seen: map[string]bool{}}
	for first := range c.p.n {
		if first > 0 && c.p.singleNode() {
			break // a closed ring may start anywhere, so rank 0 goes first
		}
		w.used[first], w.order = true, append(w.order[:0], first)
		if !w.extend() {
			return false
		}
		w.used[first] = false
	}
	for _, k := range c.kinds {
		if !slices.ContainsFunc(c.kinds, func(o kind) bool { return o.dominates(k) }) {
			c.minimal = append(c.minimal, k)
		}
	}
	return true
}

// orderSearch enumerates orders by extending one rank by rank.
type orderSearch struct {
	*kindSet
	width units.Bandwidth
	order []int
	used  []bool   // by rank: it is in the order
	uses  []uint16 // by limit: how often the order takes it
	seen  map[string]bool
	key   []byte // of takes, for seen
}

// use adds by to the uses of a step's edges; adding ^0 removes one use.
func (w *orderSearch) use(h *hop, by uint16) {
	for _, e := range h.edges {
		if at, ok := w.index[e]; ok {
			w.uses[at] += by
		}
	}
}

// extend tries all ranks that may come next. It returns false if there are too many
// kinds.
func (w *orderSearch) extend() bool {
	if len(w.order) == w.p.n {
		return w.close()
	}
	for i, h := range w.p.within[w.order[len(w.order)-1]] {
		if h == nil || w.used[i] || !w.p.wide(h, w.width) {
			continue
		}
		w.used[i], w.order = true, append(w.order, i)
		w.use(h, 1)
		ok := w.extend()
		w.use(h, ^uint16(0))
		w.used[i], w.order = false, w.order[:len(w.order)-1]
		if !ok {
			return false
		}
	}
	return true
}

// close adds the step that closes the ring, and keeps the order if it is the first
// of its kind.
func (w *orderSearch) close() bool {
	h := w.p.closing[w.order[len(w.order)-1]][w.order[0]]
	if h == nil || !w.p.wide(h, w.width) {
		return true
	}
	w.use(h, 1)
	w.key = w.key[:0]
	for _, t := range w.uses {
		w.key = binary.AppendUvarint(w.key, uint64(t))
	}
	if !w.seen[string(w.key)] {
		w.seen[string(w.key)] = true
		w.kinds = append(w.kinds, kind{slices.Clone(w.order), slices.Clone(w.uses)})
	}
	w.use(h, ^uint16(0))
	return len(w.kinds) <= maxKinds
}

// dominates reports whether a kind uses no edge more often than another, and some
// edge less often.
func (k kind) dominates(o kind) bool {
	for e, t := range k.uses {
		if t > o.uses[e] {
			return false
		}
	}
	return !slices.Equal(k.uses, o.uses)
}

// without returns the room left after a ring of this kind, if it fits.
func (k kind) without(room []uint16) (rest []uint16, fits bool) {
	rest = slices.Clone(room)
	for e, t := range k.uses {
		if t > rest[e] {
			return nil, false
		}
		rest[e] -= t
	}
	return rest, true
}

func (c *kindSet) canHold(room []uint16, rings int) bool {
	if rings == 0 {
		return true
	}
	key := fmt.Sprint(rings, room)
	if can, ok := c.memo[key]; ok {
		return can
	}
	can := false
	for _, k := range c.minimal {
		if c.work++; c.work > maxCountWork {
			return false
		}
		if rest, fits := k.without(room); fits && c.canHold(rest, rings-1) {
			can = true
			break
		}
	}
	c.memo[key] = can
	return can
}
