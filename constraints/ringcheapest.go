package constraints

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/internal/units"
)

// cheapestOrder finds the order of a node's ranks whose steps cost least, by
// dynamic programming over sets of ranks (Held and Karp 1962): the cheapest path
// from a rank through a whole set to rank 0 follows from those of the set without
// that rank. On several nodes one step of the cycle leads into the next node;
// whether it is still to come is part of the state. Ties go to the
// lexicographically first order, beginning with rank 0.
//
// Steps are of two ways: within a node (0), and into the next node (1).
type cheapestOrder struct {
	n      int
	closed bool
	steps  [2][][]int32   // by way, target and source: what a step costs; dear if there is none
	near   [2][]int       // by way and target: the set of ranks, 0 excluded, with a step to it
	hops   [2][][][]int32 // by way, source and target: the limits a step uses
	least  []int32        // see at
}

// dear is a cost above that of any order.
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

// link allows a step, and says which limits it uses.
func (o *cheapestOrder) link(way, i, j int, takes []int32) {
	o.hops[way][i][j] = append([]int32{}, takes...)
	if i > 0 {
		o.near[way][j] |= 1 << (i - 1)
	}
}

// find returns the cheapest order for given prices of the limits, if there is any.
func (o *cheapestOrder) find(prices []int32) (order []int, ok bool) {
	o.price(prices)
	o.spread()
	return o.wayRound()
}

// price computes the cost of every step.
func (o *cheapestOrder) price(prices []int32) {
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
}

// ways is how many kinds of steps an order has: 1 within a node, and on several
// nodes also those into the next.
func (o *cheapestOrder) ways() int {
	if o.closed {
		return 1
	}
	return 2
}

// full is the set of all ranks but 0.
func (o *cheapestOrder) full() int { return 1<<(o.n-1) - 1 }

// at is the least cost of going from a rank through the rest of a set to rank 0,
// with so many steps into the next node.
func (o *cheapestOrder) at(set, rank, crossing int) *int32 {
	return &o.least[(set*o.n+rank)*2+crossing]
}

// spread fills in least, from small sets to large ones.
func (o *cheapestOrder) spread() {
	for i := range o.least {
		o.least[i] = dear
	}
	*o.at(0, 0, 0) = 0
	for set := range o.full() {
		for ranks := max(1, set<<1); ranks != 0; ranks &= ranks - 1 {
			to := bits.TrailingZeros(uint(ranks))
			for crossing := range o.ways() {
				if onward := *o.at(set, to, crossing); onward < dear {
					o.lead(set, to, crossing, onward)
				}
			}
		}
	}
}

// lead extends a path, whose remaining cost is onward, backwards by every rank
// that is not in the set.
func (o *cheapestOrder) lead(set, to, crossing int, onward int32) {
	for way := 0; way+crossing < o.ways(); way++ {
		steps := o.steps[way][to]
		for rest := o.near[way][to] &^ set & o.full(); rest != 0; rest &= rest - 1 {
			bit := rest & -rest
			rank := bits.TrailingZeros(uint(rest)) + 1
			l := o.at(set|bit, rank, crossing+way)
			*l = min(*l, steps[rank]+onward)
		}
	}
}

// wayRound reads the first of the cheapest orders off least. It begins after the
// step into the next node.
func (o *cheapestOrder) wayRound() (order []int, ok bool) {
	n := o.n
	order = make([]int, n)
	begin := 0
	for i, set, crossing := 1, o.full(), o.ways()-1; i <= n; i++ {
		here := order[i-1]
		next, most, by := -1, int32(dear), 0
		for to := range n {
			for way := 0; way <= crossing; way++ {
				inside := set == 0 && to == 0 || to > 0 && set>>(to-1)&1 == 1
				if step := o.steps[way][to][here]; inside && step < dear && step+*o.at(set, to, crossing-way) < most {
					next, most, by = to, step+*o.at(set, to, crossing-way), way
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
