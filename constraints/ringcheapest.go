package constraints

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/internal/units"
)

// cheapestOrder finds the order of a node whose steps cost least, by dynamic
// programming over sets of ranks (Held and Karp 1962): the cheapest way from a rank
// through all of a set to rank 0 follows from those of the set without it. On several
// nodes one step of the way round leads into the next node: whether it is still to
// come is part of the state. Of orders that cost the same it is the first in
// lexicographic order, as seen from rank 0.
type cheapestOrder struct {
	n      int
	closed bool
	steps  [2][][]int32   // what a step to a rank from another costs, within a node and into the next; dear where there is none
	near   [2][]int       // the ranks but 0 that have a step to a rank, as a set
	hops   [2][][][]int32 // the limits it takes, by place
	least  []int32        // by set without rank 0, rank of it, and step into the next node still to take
}

// dear is more than any order costs.
const dear = math.MaxInt32 / 2

func newCheapestOrder(c *ringKinds, width units.Bandwidth) *cheapestOrder {
	p := c.p
	o := &cheapestOrder{n: p.n, closed: p.closed()}
	for way, table := range [2][][]*hop{p.in, p.close} {
		o.steps[way], o.hops[way], o.near[way] = make([][]int32, p.n), make([][][]int32, p.n), make([]int, p.n)
		for i, row := range table {
			o.steps[way][i], o.hops[way][i] = make([]int32, p.n), make([][]int32, p.n)
			for j, h := range row {
				if h == nil || i == j || !p.wide(h, width) {
					continue
				}
				var takes []int32
				for _, e := range h.edges {
					if at, limited := c.at[e]; limited {
						takes = append(takes, int32(at))
					}
				}
				o.link(way, i, j, takes)
			}
		}
	}
	o.least = make([]int32, p.n<<p.n)
	return o
}

// link lets a step be taken, and says which limits it takes.
func (o *cheapestOrder) link(way, i, j int, takes []int32) {
	o.hops[way][i][j] = append([]int32{}, takes...)
	if i > 0 {
		o.near[way][j] |= 1 << (i - 1)
	}
}

// find is the order that costs least by prices of limits; false where there is
// none.
func (o *cheapestOrder) find(prices []int32) (order []int, ok bool) {
	for way, table := range o.hops {
		for i, row := range table {
			for j, taken := range row {
				cost := int32(dear)
				if taken != nil {
					cost = 0
					for _, at := range taken {
						cost += prices[at]
					}
				}
				o.steps[way][j][i] = cost
			}
		}
	}
	for i := range o.least {
		o.least[i] = dear
	}
	n, ways := o.n, 2
	if o.closed {
		ways = 1
	}
	// least of (set, rank, w): from the rank through all of the set but itself to
	// rank 0, with w steps into the next node.
	at := func(set, rank, crossing int) *int32 { return &o.least[(set*n+rank)*2+crossing] }
	*at(0, 0, 0) = 0
	full := 1<<(n-1) - 1
	for set := range full {
		for ranks := max(1, set<<1); ranks != 0; ranks &= ranks - 1 {
			to := bits.TrailingZeros(uint(ranks))
			for crossing := range ways {
				onward := *at(set, to, crossing)
				if onward >= dear {
					continue
				}
				for way := 0; way+crossing < ways; way++ {
					steps := o.steps[way][to]
					for rest := o.near[way][to] &^ set & full; rest != 0; rest &= rest - 1 {
						bit := rest & -rest
						rank := bits.TrailingZeros(uint(rest)) + 1
						l := at(set|bit, rank, crossing+way)
						*l = min(*l, steps[rank]+onward)
					}
				}
			}
		}
	}
	// The way round, the first of those that cost as little, and where it is to
	// begin: behind the step into the next node.
	order = make([]int, n)
	begin := 0
	for i, set, crossing := 1, full, ways-1; i <= n; i++ {
		here := order[i-1]
		next, most, by := -1, int32(dear), 0
		for to := range n {
			for way := 0; way <= crossing; way++ {
				inside := set == 0 && to == 0 || to > 0 && set>>(to-1)&1 == 1
				if step := o.steps[way][to][here]; inside && step < dear && step+*at(set, to, crossing-way) < most {
					next, most, by = to, step+*at(set, to, crossing-way), way
				}
			}
		}
		if next < 0 {
			return nil, false
		}
		if by == 1 {
			begin = i % n
		}
		if crossing -= by; i < n {
			order[i] = next
			set &^= 1 << (next - 1)
		}
	}
	return append(order[begin:n:n], order[:begin]...), true
}
