package constraints

import (
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// obvious returns orders that are found without a search: the first in a short
// table that fits the widest width, or nil.
func (p *ringProblem) obvious(widest units.Bandwidth) (orders [][]int, by string) {
	sequence, zigzag := upTo(p.n), upTo(p.n)
	for i := range zigzag {
		if zigzag[i] = (i + 1) / 2; i%2 == 0 {
			zigzag[i] = (p.n - i/2) % p.n
		}
	}
	for _, way := range []struct {
		by    string
		order []int
		turn  int // by how much one ring's order is shifted against the one before
		fits  bool
	}{
		{"identity order", sequence, 0, true},
		// On several nodes the shift lets each ring leave the node from another
		// rank.
		{"identity order", sequence, 1, !p.closed()},
		// Shifted copies of 0 1 7 2 6 3 5 4 never have one rank follow another
		// twice.
		{"zigzag order", zigzag, 1, !p.closed() && p.n%2 == 0},
	} {
		if orders := p.turned(way.order, way.turn); way.fits && p.fits(orders, widest) {
			if way.by == "identity order" && p.complete() {
				return orders, "complete graph"
			}
			return orders, way.by
		}
	}
	return nil, ""
}

// turned is an order for each ring, shifted by so much from one ring to the next.
func (p *ringProblem) turned(order []int, by int) (orders [][]int) {
	for k := range p.count {
		own := slices.Clone(order)
		for i := range own {
			own[i] = (own[i] + k*by) % p.n
		}
		orders = append(orders, own)
	}
	return orders
}

// fits tells whether every step exists and no edge is taken more often than the
// width allows.
func (p *ringProblem) fits(orders [][]int, width units.Bandwidth) bool {
	taken := map[int]int{}
	for _, order := range orders {
		for i, from := range order {
			table := p.in
			if i == p.n-1 {
				table = p.close
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

// many is the number of ranks in a node from which not every pair of ranks is
// examined, provided that the identity order can be seen to be best.
const many = 256

// identityOfMany returns the identity order, for each ring, on a single node of
// many ranks if that is clearly the widest set of rings, and otherwise nil. It
// clearly is if some rank's links have no room for all rings at any greater width.
func identityOfMany(t *topologies.Topology, count int) [][]int {
	n := len(t.Ranks)
	if n <= many || t.Nodes != 1 {
		return nil
	}
	p := &ringProblem{t: t, n: n, count: count}
	width := units.Bandwidth(1<<63 - 1)
	for r := range n {
		path, ok := t.Path(r, (r+1)%n)
		if !ok {
			return nil
		}
		for _, e := range path.Edges {
			if p.shares(e) < count {
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
				orders[k] = upTo(n)
			}
			return orders
		}
	}
	return nil
}
