package rings

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/constraints/simplex"
	"github.com/colltune/colltune/internal/units"
)

// The greatest number of rings that the links hold is bounded by a linear program
// with a variable for every order of a node. It is solved by column generation: the
// dual values are prices of the links' room, and the cheapest order at these prices
// is the next column.
//
//	five rings of a Frontier node      prices: 1 on these, 0 on all others
//	gpu 1 ⇄ gpu 3, one link            a cheapest order uses one of them, and their
//	gpu 1 ⇄ gpu 5, one link            room is worth 4: there are no five rings
//
// If all room together is worth less than count of the cheapest orders, there are no
// count rings. The prices, as whole numbers, are the proof, and a user can check the
// sum. Otherwise the orders with the largest amounts are taken one by one (diving),
// and the program is solved again for the room that is left. Nothing of this depends
// on the speed of the machine.
type packing struct {
	*kindSet
	orders   []kind
	cheapest *cheapestOrder
	ctx      context.Context
	work     int // how much of packedWork is left
}

const (
	// maxPackedRanks is the largest node, in ranks, of which the cheapest order is
	// computed.
	maxPackedRanks = 16
	// maxPackingWork limits how often a cheapest order or the program is computed.
	// It stands for a few seconds at 16 ranks.
	maxPackingWork = 1000
	// maxAlternatives is the number of orders tried at each level of the dive.
	maxAlternatives = 3
)

// verdict is the outcome of packing.
type verdict uint8

const (
	unsettled verdict = iota
	packed
	impossible
)

// findByPacking is findAtWidth for nodes of up to maxPackedRanks. why is the reason if
// rings are impossible.
func (p *problem) findByPacking(ctx context.Context, width units.Bandwidth) (orders [][]int, why string, is verdict) {
	if p.n < 2 || p.n > maxPackedRanks {
		return nil, "", unsettled
	}
	c := &packing{kindSet: &kindSet{p: p, index: map[int]int{}}, ctx: ctx, work: maxPackingWork}
	c.findScarce(width)
	c.cheapest = newCheapestOrder(c.kindSet, width)
	// At no cost, the cheapest order is the first of all.
	first, ok := c.addCheapest(make([]int32, len(c.room)))
	_, fits := first.without(c.room)
	switch {
	case !ok:
		return nil, "no order of its GPUs has a link at every step: all were tried", impossible
	case p.count == 1 && fits, !slices.ContainsFunc(first.uses, func(t uint16) bool { return t > 0 }):
		for range p.count {
			orders = append(orders, slices.Clone(first.order))
		}
		return orders, "", packed
	}
	filled, prices := c.solveLP(c.room, p.count)
	if filled == nil {
		if prices == nil {
			return nil, "", unsettled
		}
		why, proved := c.refuteByPrices(prices, p.count)
		if !proved {
			return nil, "", unsettled
		}
		return nil, why, impossible
	}
	kinds := c.rounded(c.room, p.count, filled)
	if kinds == nil {
		return nil, "", unsettled
	}
	for _, k := range kinds {
		orders = append(orders, slices.Clone(k.order))
	}
	slices.SortFunc(orders, slices.Compare)
	return orders, "", packed
}

// addCheapest computes the cheapest order and adds it and its reverse.
func (c *packing) addCheapest(prices []int32) (kind, bool) {
	c.work--
	order, ok := c.cheapest.find(prices)
	if !ok {
		return kind{}, false
	}
	k, _ := c.kind(order)
	c.addOrder(k)
	back := slices.Clone(order)
	slices.Reverse(back[min(1, c.p.n-1):]) // starting from the same rank
	if !c.p.singleNode() {
		back = slices.Clone(order)
		slices.Reverse(back)
	}
	if k, ok := c.kind(back); ok {
		c.addOrder(k)
	}
	return k, true
}

// kind returns the uses of an order. ok is false if one of its steps does not exist.
func (c *packing) kind(order []int) (kind, bool) {
	k := kind{order, make([]uint16, len(c.scarce))}
	for i, from := range order {
		way := 0
		if i == c.p.n-1 {
			way = 1
		}
		taken := c.cheapest.hops[way][from][order[(i+1)%c.p.n]]
		if taken == nil {
			return kind{}, false
		}
		for _, at := range taken {
			k.uses[at]++
		}
	}
	return k, true
}

// addOrder adds an order, unless there is one with the same uses.
func (c *packing) addOrder(k kind) {
	if !slices.ContainsFunc(c.orders, func(o kind) bool { return slices.Equal(o.uses, k.uses) }) {
		c.orders = append(c.orders, k)
	}
}

// solveLP solves the linear program. If its optimum is count rings or more, amount is
// the primal solution. Otherwise amount is nil and prices is the dual solution, or nil
// if the work limit was met.
func (c *packing) solveLP(room []uint16, count int) (amount, prices []float64) {
	for ; c.work > 0 && c.ctx.Err() == nil; c.work-- {
		// An order that uses more of a link than is left cannot be taken. But as long
		// as no known order fits, such orders are needed to find the prices.
		var may, all []int
		for i, k := range c.orders {
			all = append(all, i)
			if _, fits := k.without(room); fits {
				may = append(may, i)
			}
		}
		if may == nil {
			may = all
		}
		lp := simplex.New(len(room), len(may))
		for e, r := range room {
			lp.SetBound(e, float64(r))
		}
		for column, i := range may {
			lp.Maximize(column)
			for e, t := range c.orders[i].uses {
				lp.SetCoefficient(e, column, float64(t))
			}
		}
		if !lp.Solve(math.Inf(1)) {
			return nil, nil
		}
		if lp.Objective() > float64(count)-1e-6 {
			amount = make([]float64, len(c.orders))
			for column, i := range may {
				amount[i] = lp.Primal(column)
			}
			return amount, nil
		}
		prices = make([]float64, len(room))
		for e := range room {
			// A link without room costs more than a ring is worth.
			if prices[e] = lp.Dual(e); room[e] == 0 {
				prices[e] = 2
			}
		}
		known := len(c.orders)
		k, ok := c.addCheapest(integerPrices(prices))
		cost := 0.0
		for e, t := range k.uses {
			cost += float64(t) * prices[e]
		}
		if !ok || cost > 1-1e-6 || len(c.orders) == known {
			return nil, prices
		}
	}
	return nil, nil
}

// rounded chooses whole rings, beginning with the orders of the largest amounts.
func (c *packing) rounded(room []uint16, count int, amount []float64) []kind {
	if count == 0 {
		return []kind{}
	}
	most := make([]int, len(amount))
	for i := range most {
		most[i] = i
	}
	slices.SortStableFunc(most, func(a, b int) int {
		switch {
		case amount[a] > amount[b]+1e-6:
			return -1
		case amount[b] > amount[a]+1e-6:
			return 1
		}
		return 0
	})
	for _, i := range most[:min(maxAlternatives, len(most))] {
		k := c.orders[i]
		rest, fits := k.without(room)
		if !fits || amount[i] < 1e-6 {
			continue
		}
		var filled []float64
		if count > 1 {
			if filled, _ = c.solveLP(rest, count-1); filled == nil {
				continue
			}
		}
		if others := c.rounded(rest, count-1, filled); others != nil {
			return append(others, k)
		}
	}
	return nil
}

// refuteByPrices turns prices into a proof that there are no count rings: the simplest
// whole numbers near them at which all room is worth less than count of the cheapest
// orders.
func (c *packing) refuteByPrices(prices []float64, count int) (why string, proved bool) {
	dearest := slices.Max(prices)
	if dearest <= 0 {
		return "", false // without prices nothing is proved
	}
	for _, scale := range []float64{1, 2, 3, 4, 6, 12, priceScale} {
		weights, room := make([]int32, len(prices)), int64(0)
		for e, x := range prices {
			weights[e] = int32(math.Round(x / dearest * scale))
			room += int64(weights[e]) * int64(c.room[e])
		}
		k, _ := c.addCheapest(weights)
		cost := int64(0)
		for e, t := range k.uses {
			cost += int64(weights[e]) * int64(t)
		}
		if room < cost*int64(count) {
			return c.describeProof(weights, room, cost), true
		}
	}
	return "", false
}

// describeProof puts the refutation into words: it names the links with a price.
func (c *packing) describeProof(weights []int32, room, cost int64) string {
	var links []string
	alike := slices.Max(weights) == 1
	for e, w := range weights {
		if w == 0 {
			continue
		}
		edge := c.p.t.Edges[c.scarce[e]]
		link := fmt.Sprintf("%s to %s", c.p.t.Vertices[edge.From].Name, c.p.t.Vertices[edge.To].Name)
		if !alike {
			link += fmt.Sprintf(" (counted %d times)", w)
		}
		links = append(links, link)
	}
	const most = 8
	if len(links) > most {
		links = append(links[:most], fmt.Sprintf("%d more", len(links)-most))
	}
	return fmt.Sprintf("every ring takes %d or more of these links, which hold %d: %s", cost, room, strings.Join(links, ", "))
}

// priceScale is the price of the most expensive link in whole numbers.
const priceScale = 1 << 20

// integerPrices rounds prices to whole numbers.
func integerPrices(prices []float64) []int32 {
	list := make([]int32, len(prices))
	if len(prices) == 0 {
		return list
	}
	dearest := slices.Max(prices)
	for e, x := range prices {
		if dearest > 0 {
			list[e] = int32(math.Round(x / dearest * priceScale))
		}
	}
	return list
}
