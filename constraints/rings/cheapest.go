package rings

import (
	"math"
	"math/bits"

	"github.com/colltune/colltune/internal/units"
)

// cheapestOrder finds the order of a node's ranks with the least total step cost, by
// dynamic programming over sets of ranks (Held and Karp 1962): the cheapest path from
// a rank through a set to rank 0 follows from those of the set without that rank. On
// several nodes one step of the cycle leads into the next node; whether it is still
// to come is part of the state. Of orders of equal cost it takes the
// lexicographically first, written from rank 0 on.
//
// A step is of one of two kinds: within a node (0), or into the next node (1).
type cheapestOrder struct {
	n       int
	closed  bool
	steps   [2][][]int32   // by way, target and source: what a step costs; dear if there is none
	sources [2][]int       // by way and target: the set of ranks, 0 excluded, with a step to it
	hops    [2][][][]int32 // by way, source and target: the limits a step uses
	cost    []int32        // see at
}

// infinite is a cost above that of any order.
const infinite = math.MaxInt32 / 2

func newCheapestOrder(c *kindSet, width units.Bandwidth) *cheapestOrder {
	p := c.p
	o := &cheapestOrder{n: p.n, closed: p.singleNode()}
	for way, table := range [2][][]*hop{p.within, p.closing} {
		o.steps[way], o.hops[way], o.sources[way] = make([][]int32, p.n), make([][][]int32, p.n), make([]int, p.n)
		for i, row := range table {
			o.steps[way][i], o.hops[way][i] = make([]int32, p.n), make([][]int32, p.n)
			for j, h := range row {
				if h == nil || i == j || !p.wide(h, width) {
					continue
				}
				var takes []int32
				for _, e := range h.edges {
					if at, limited := c.index[e]; limited {
						takes = append(takes, int32(at))
					}
				}
				o.addStep(way, i, j, takes)
			}
		}
	}
	o.cost = make([]int32, p.n<<p.n)
	return o
}

// addStep allows a step, which uses the given scarce edges.
func (o *cheapestOrder) addStep(way, i, j int, takes []int32) {
	o.hops[way][i][j] = append([]int32{}, takes...)
	if i > 0 {
		o.sources[way][j] |= 1 << (i - 1)
	}
}

// find returns the cheapest order, given a price for each scarce edge, if there is an
// order.
func (o *cheapestOrder) find(prices []int32) (order []int, ok bool) {
	o.setPrices(prices)
	o.computeCosts()
	return o.readOrder()
}

// setPrices computes the cost of every step.
func (o *cheapestOrder) setPrices(prices []int32) {
	for way, table := range o.hops {
		for i, row := range table {
			for j, taken := range row {
				cost := int32(infinite)
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

// kinds returns the number of kinds of steps in an order: 1 on one node, 2 on several.
func (o *cheapestOrder) kinds() int {
	if o.closed {
		return 1
	}
	return 2
}

// full returns the set of all ranks but 0.
func (o *cheapestOrder) full() int { return 1<<(o.n-1) - 1 }

// costAt returns the least cost of a path from a rank, which is in the set, through
// the rest of the set to rank 0, with crossing steps into the next node.
func (o *cheapestOrder) costAt(set, rank, crossing int) *int32 {
	return &o.cost[(set*o.n+rank)*2+crossing]
}

// computeCosts fills in cost, from small sets to large ones.
func (o *cheapestOrder) computeCosts() {
	for i := range o.cost {
		o.cost[i] = infinite
	}
	*o.costAt(0, 0, 0) = 0
	for set := range o.full() {
		for ranks := max(1, set<<1); ranks != 0; ranks &= ranks - 1 {
			to := bits.TrailingZeros(uint(ranks))
			for crossing := range o.kinds() {
				if onward := *o.costAt(set, to, crossing); onward < infinite {
					o.relax(set, to, crossing, onward)
				}
			}
		}
	}
}

// relax extends a path of cost onward backwards by every rank that is not in the set.
func (o *cheapestOrder) relax(set, to, crossing int, onward int32) {
	for way := 0; way+crossing < o.kinds(); way++ {
		steps := o.steps[way][to]
		for rest := o.sources[way][to] &^ set & o.full(); rest != 0; rest &= rest - 1 {
			bit := rest & -rest
			rank := bits.TrailingZeros(uint(rest)) + 1
			l := o.costAt(set|bit, rank, crossing+way)
			*l = min(*l, steps[rank]+onward)
		}
	}
}

// readOrder reads the lexicographically first cheapest order from cost. On several
// nodes the order returned begins after the step into the next node.
func (o *cheapestOrder) readOrder() (order []int, ok bool) {
	n := o.n
	order = make([]int, n)
	begin := 0
	for i, set, crossing := 1, o.full(), o.kinds()-1; i <= n; i++ {
		here := order[i-1]
		next, most, by := -1, int32(infinite), 0
		for to := range n {
			for way := 0; way <= crossing; way++ {
				inside := set == 0 && to == 0 || to > 0 && set>>(to-1)&1 == 1
				if step := o.steps[way][to][here]; inside && step < infinite && step+*o.costAt(set, to, crossing-way) < most {
					next, most, by = to, step+*o.costAt(set, to, crossing-way), way
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
