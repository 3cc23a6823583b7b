package constraints

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/constraints/simplex"
	"github.com/colltune/colltune/internal/units"
)

// How many rings the links hold is a linear program with a variable for every
// order of a node. Only a few of these matter, and they are found while the
// program is solved (column generation): its dual assigns prices to the links'
// room, and the cheapest order at these prices is added.
//
//	five rings of a Frontier node      prices: 1 on these, 0 on all others
//	gpu 1 ⇄ gpu 3, one link            an order that costs least takes one of them,
//	gpu 1 ⇄ gpu 5, one link            the room on them is worth 4: no five rings
//
// If all room together is worth less, at its prices, than so many of the cheapest
// orders, there are no such rings. The prices, as whole numbers, prove it, and a
// user can check the sum. Otherwise, the orders that fill the program most are
// taken one by one, and the question is asked again for the room that is left.
// Nothing of this depends on the speed of the machine.
type ringPacking struct {
	*ringKinds
	orders []ringKind
	tours  *cheapestOrder
	ctx    context.Context
	work   int // how much of packedWork is left
}

const (
	// packedRanks is the largest node, in ranks, of which the cheapest order is
	// computed.
	packedRanks = 16
	// packedWork limits how many times a cheapest order or the program is
	// computed; it stands for a few seconds at 16 ranks.
	packedWork = 1000
	// alternatives is how many orders are tried first where one has to be chosen.
	alternatives = 3
)

// verdict is the outcome of packing.
type verdict uint8

const (
	unsettled verdict = iota
	packed
	impossible
)

// askByPacking is ask for nodes of up to packedRanks. If rings are impossible, it
// says why.
func (p *ringProblem) askByPacking(ctx context.Context, width units.Bandwidth) (orders [][]int, why string, is verdict) {
	if p.n < 2 || p.n > packedRanks {
		return nil, "", unsettled
	}
	c := &ringPacking{ringKinds: &ringKinds{p: p, at: map[int]int{}}, ctx: ctx, work: packedWork}
	c.limit(width)
	c.tours = newCheapestOrder(c.ringKinds, width)
	// At no cost, the cheapest order is the first of all.
	first, ok := c.find(make([]int32, len(c.room)))
	_, fits := first.without(c.room)
	switch {
	case !ok:
		return nil, "no order of its GPUs has a link at every step: all were tried", impossible
	case p.count == 1 && fits, !slices.ContainsFunc(first.takes, func(t uint16) bool { return t > 0 }):
		for range p.count {
			orders = append(orders, slices.Clone(first.order))
		}
		return orders, "", packed
	}
	filled, prices := c.fill(c.room, p.count)
	if filled == nil {
		if prices == nil {
			return nil, "", unsettled
		}
		why, proved := c.refute(prices, p.count)
		if !proved {
			return nil, "", unsettled
		}
		return nil, why, impossible
	}
	kinds := c.take(c.room, p.count, filled)
	if kinds == nil {
		return nil, "", unsettled
	}
	for _, k := range kinds {
		orders = append(orders, slices.Clone(k.order))
	}
	slices.SortFunc(orders, slices.Compare)
	return orders, "", packed
}

// find computes the cheapest order, and adds it and its reverse.
func (c *ringPacking) find(prices []int32) (ringKind, bool) {
	c.work--
	order, ok := c.tours.find(prices)
	if !ok {
		return ringKind{}, false
	}
	k, _ := c.kind(order)
	c.keep(k)
	back := slices.Clone(order)
	slices.Reverse(back[min(1, c.p.n-1):]) // starting from the same rank
	if !c.p.closed() {
		back = slices.Clone(order)
		slices.Reverse(back)
	}
	if k, ok := c.kind(back); ok {
		c.keep(k)
	}
	return k, true
}

// kind describes what an order takes. It fails if a link of it does not exist.
func (c *ringPacking) kind(order []int) (ringKind, bool) {
	k := ringKind{order, make([]uint16, len(c.limits))}
	for i, from := range order {
		way := 0
		if i == c.p.n-1 {
			way = 1
		}
		taken := c.tours.hops[way][from][order[(i+1)%c.p.n]]
		if taken == nil {
			return ringKind{}, false
		}
		for _, at := range taken {
			k.takes[at]++
		}
	}
	return k, true
}

// keep adds an order, unless one that takes the same is known.
func (c *ringPacking) keep(k ringKind) {
	if !slices.ContainsFunc(c.orders, func(o ringKind) bool { return slices.Equal(o.takes, k.takes) }) {
		c.orders = append(c.orders, k)
	}
}

// fill returns how much of each order is used when the room is shared best,
// provided that this comes to count rings. Otherwise amount is nil, and prices are
// those that prove it, or nil too if the work exceeded its limit.
func (c *ringPacking) fill(room []uint16, count int) (amount, prices []float64) {
	for ; c.work > 0 && c.ctx.Err() == nil; c.work-- {
		// An order that takes more of a link than is left cannot be used. But as
		// long as no known order fits, these are needed to find out which links
		// are too full.
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
			lp.Limit(e, float64(r))
		}
		for column, i := range may {
			lp.Gain(column)
			for e, t := range c.orders[i].takes {
				lp.Set(e, column, float64(t))
			}
		}
		if !lp.Solve(math.Inf(1)) {
			return nil, nil
		}
		if lp.Value() > float64(count)-1e-6 {
			amount = make([]float64, len(c.orders))
			for column, i := range may {
				amount[i] = lp.Amount(column)
			}
			return amount, nil
		}
		prices = make([]float64, len(room))
		for e := range room {
			// A link without room costs more than a ring is worth.
			if prices[e] = lp.Price(e); room[e] == 0 {
				prices[e] = 2
			}
		}
		known := len(c.orders)
		k, ok := c.find(whole(prices))
		cost := 0.0
		for e, t := range k.takes {
			cost += float64(t) * prices[e]
		}
		if !ok || cost > 1-1e-6 || len(c.orders) == known {
			return nil, prices
		}
	}
	return nil, nil
}

// take chooses whole rings, beginning with the orders that are used most.
func (c *ringPacking) take(room []uint16, count int, amount []float64) []ringKind {
	if count == 0 {
		return []ringKind{}
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
	for _, i := range most[:min(alternatives, len(most))] {
		k := c.orders[i]
		rest, fits := k.without(room)
		if !fits || amount[i] < 1e-6 {
			continue
		}
		var filled []float64
		if count > 1 {
			if filled, _ = c.fill(rest, count-1); filled == nil {
				continue
			}
		}
		if others := c.take(rest, count-1, filled); others != nil {
			return append(others, k)
		}
	}
	return nil
}

// refute turns prices into a proof that there are not so many rings: the simplest
// whole numbers near them at which all room is worth less than so many of the
// cheapest orders.
func (c *ringPacking) refute(prices []float64, count int) (why string, proved bool) {
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
		k, _ := c.find(weights)
		cost := int64(0)
		for e, t := range k.takes {
			cost += int64(weights[e]) * int64(t)
		}
		if room < cost*int64(count) {
			return c.proof(weights, room, cost), true
		}
	}
	return "", false
}

// proof puts the refutation into words: it names the links that every ring needs
// some of.
func (c *ringPacking) proof(weights []int32, room, cost int64) string {
	var links []string
	alike := slices.Max(weights) == 1
	for e, w := range weights {
		if w == 0 {
			continue
		}
		edge := c.p.t.Edges[c.limits[e]]
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

// whole rounds prices to whole numbers.
func whole(prices []float64) []int32 {
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
