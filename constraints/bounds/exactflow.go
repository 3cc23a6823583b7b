package bounds

import (
	"math"
	"math/big"
)

// The bandwidth of a flow is a fraction. Only the basis (which trees are used and which
// links are full) is taken from floating point. The trees' amounts are the solution of a
// linear system, and the load is added up exactly, link by link.

// exactTime returns exactly the time that the flow takes, with the exact amounts of the
// basis or, if these cannot be found, with the approximate amounts. It returns nil if
// rounding has left a source without trees.
func (c *commodities) exactTime() *big.Rat {
	var trees []tree
	var approximate []*big.Rat
	for _, variable := range c.lp.Basis() {
		if t, ok := c.trees[variable]; ok {
			trees = append(trees, t)
			share := max(0, c.lp.Primal(variable)/c.lp.Objective())
			approximate = append(approximate, new(big.Rat).SetFrac64(int64(math.Round(share*(1<<40))), 1<<40))
		}
	}
	amount := c.exactAmounts(trees)
	if c.sums(trees, amount) == nil {
		amount = approximate
	}
	sum := c.sums(trees, amount)
	if sum == nil {
		return nil
	}
	longest, part := new(big.Rat), new(big.Rat)
	for e, room := range c.capacity {
		load := new(big.Rat)
		for i, t := range trees {
			if t.load[e] != 0 {
				load.Add(load, part.Mul(part.Quo(amount[i], &sum[t.source]), new(big.Rat).SetInt64(t.load[e])))
			}
		}
		if load.Quo(load, new(big.Rat).SetInt(room)); load.Cmp(longest) > 0 {
			longest = load
		}
	}
	return longest
}

// sums returns the amounts of the trees of each source together, or nil if some source
// has none.
func (c *commodities) sums(trees []tree, amount []*big.Rat) []big.Rat {
	sum := make([]big.Rat, len(c.o.sources))
	for i, x := range amount {
		source := &sum[trees[i].source]
		source.Add(source, x)
	}
	for i := range sum {
		if sum[i].Sign() == 0 {
			return nil
		}
	}
	return sum
}

// exactAmounts computes the exact amount of each basic tree from two conditions: those
// of each source add up to the rate, and links without slack are full. It returns nil if
// there is no such solution.
func (c *commodities) exactAmounts(trees []tree) []*big.Rat {
	slack := map[int]bool{} // by variable
	for _, variable := range c.lp.Basis() {
		slack[variable] = true
	}
	common := new(big.Int)
	for _, r := range c.capacity {
		common.GCD(nil, nil, common, r)
	}
	var equations [][]*big.Int // unknowns: the trees, then the rate
	var right []*big.Int
	equation := func(row int, of func(tree) int64, rate int64, sum *big.Int) {
		if slack[c.lp.Slack(row)] {
			return
		}
		left := make([]*big.Int, 0, len(trees)+1)
		for _, t := range trees {
			left = append(left, big.NewInt(of(t)))
		}
		equations, right = append(equations, append(left, big.NewInt(rate))), append(right, sum)
	}
	for s := range c.o.sources {
		equation(len(c.capacity)+s, func(t tree) int64 {
			if t.source == s {
				return 1
			}
			return 0
		}, -1, new(big.Int))
	}
	for e, room := range c.capacity {
		equation(e, func(t tree) int64 { return t.load[e] }, 0, new(big.Int).Quo(room, common))
	}
	if len(equations) != len(trees)+1 {
		return nil
	}
	x := solveExactly(equations, right)
	if x == nil {
		return nil
	}
	for _, amount := range x {
		if amount.Sign() < 0 {
			return nil
		}
	}
	return x[:len(trees)]
}
