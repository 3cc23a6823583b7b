package rings

import (
	"slices"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// trivialOrders returns orders that need no search: the first in a short table that
// fits the greatest width, or nil.
func (p *problem) trivialOrders(widest units.Bandwidth) (orders [][]int, by string) {
	sequence, zigzag := lists.UpTo(p.n), lists.UpTo(p.n)
	for i := range zigzag {
		if zigzag[i] = (i + 1) / 2; i%2 == 0 {
			zigzag[i] = (p.n - i/2) % p.n
		}
	}
	for _, way := range []struct {
		by    string
		order []int
		turn  int // shift of each ring's order against the one before
		fits  bool
	}{
		{"identity order", sequence, 0, true},
		// On several nodes the shift lets each ring leave the node from another
		// rank.
		{"identity order", sequence, 1, !p.singleNode()},
		// In shifted copies of 0 1 7 2 6 3 5 4 no rank follows another twice.
		{"zigzag order", zigzag, 1, !p.singleNode() && p.n%2 == 0},
	} {
		if orders := p.shifted(way.order, way.turn); way.fits && p.fitsWidth(orders, widest) {
			if way.by == "identity order" && p.complete() {
				return orders, "complete graph"
			}
			return orders, way.by
		}
	}
	return nil, ""
}

// shifted returns an order for each ring, in which every rank is by more than in the
// ring before.
func (p *problem) shifted(order []int, by int) (orders [][]int) {
	for k := range p.count {
		own := slices.Clone(order)
		for i := range own {
			own[i] = (own[i] + k*by) % p.n
		}
		orders = append(orders, own)
	}
	return orders
}

// fitsWidth reports whether every step exists and no edge is used more often than the
// width allows.
func (p *problem) fitsWidth(orders [][]int, width units.Bandwidth) bool {
	taken := map[int]int{}
	for _, order := range orders {
		for i, from := range order {
			table := p.within
			if i == p.n-1 {
				table = p.closing
			}
			h := table[from][order[(i+1)%p.n]]
			if h == nil {
				return false
			}
			for _, e := range h.edges {
				if taken[e]++; taken[e] > p.capacity(e, width) {
					return false
				}
			}
		}
	}
	return true
}

// fullPairRanks is the number of ranks in a node up to which every pair of ranks is
// examined, even if the identity order is evidently best.
const fullPairRanks = 256

// identityOfLarge returns the identity order for each ring on a single node of more
// than fullPairRanks ranks if no set of rings is wider, and otherwise nil. None is
// wider if some rank's links do not have room for all rings at any greater width.
func identityOfLarge(t *topologies.Topology, count int) [][]int {
	n := len(t.Ranks)
	if n <= fullPairRanks || t.Nodes != 1 {
		return nil
	}
	p := &problem{t: t, n: n, count: count}
	width := units.Bandwidth(1<<63 - 1)
	for r := range n {
		path, ok := t.Path(r, (r+1)%n)
		if !ok {
			return nil
		}
		for _, e := range path.Edges {
			if p.maxShares(e) < count {
				return nil
			}
			width = min(width, t.Edges[e].Bandwidth/units.Bandwidth(count))
		}
	}
	for r := range n {
		room := 0
		for _, e := range t.Out(r) {
			room += p.capacity(int(e), width+1)
		}
		if room < count {
			orders := make([][]int, count)
			for k := range orders {
				orders[k] = lists.UpTo(n)
			}
			return orders
		}
	}
	return nil
}
