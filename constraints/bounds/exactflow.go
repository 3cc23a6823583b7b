package bounds

import (
	"math"
	"math/big"
)

// The bandwidth of a flow is a fraction. Only the basis (which trees are used and which
// links are full) is taken from floating point. The trees' shares are the solution of a
// linear system, and the load is added up exactly, link by link.

// exactTime returns exactly the time that the flow takes, with the exact shares of the
// basis or, if these cannot be found, with the approximate shares.
func (c *commodities) exactTime(m *master) *big.Rat {
	share := m.exactShares(c.capacity)
	if share == nil {
		share = m.approximateShares(len(c.o.sources))
	}
	longest := new(big.Rat)
	for e, room := range c.capacity {
		load := new(big.Rat)
		for r, t := range m.basis {
			if t.source >= 0 && t.load[e] != 0 {
				load.Add(load, new(big.Rat).Mul(share[r], big.NewRat(t.load[e], 1)))
			}
		}
		if load.Quo(load, new(big.Rat).SetInt(room)); load.Cmp(longest) > 0 {
			longest = load
		}
	}
	return longest
}

// approximateShares returns the floating-point shares of the trees as fractions, scaled
// to add up to 1 for each source.
func (m *master) approximateShares(sources int) []*big.Rat {
	share, sum := make([]*big.Rat, len(m.basis)), make([]big.Rat, sources)
	for r, t := range m.basis {
		if t.source >= 0 {
			share[r] = new(big.Rat).SetFrac64(int64(math.Round(max(0, m.amount[r])*(1<<40))), 1<<40)
			sum[t.source].Add(&sum[t.source], share[r])
		}
	}
	for r, t := range m.basis {
		if t.source >= 0 {
			share[r].Quo(share[r], &sum[t.source])
		}
	}
	return share
}

// exactShares computes the exact share of each tree, by row of the basis, from two
// conditions: the shares of a source add up to 1, and links without slack are full. It
// returns nil if there is no such solution.
func (m *master) exactShares(room []*big.Int) []*big.Rat {
	var trees []int // their rows
	left := make([]bool, m.links)
	sources := len(m.basis) - m.links
	for r, c := range m.basis {
		switch {
		case c.source >= 0:
			trees = append(trees, r)
		case c.link >= 0:
			left[c.link] = true
		}
	}
	common := new(big.Int)
	for _, r := range room {
		common.GCD(nil, nil, common, r)
	}
	var equations [][]*big.Int // unknowns: the trees, then the time
	equation := func(of func(column) int64, time *big.Int) {
		row := make([]*big.Int, 0, len(trees)+1)
		for _, r := range trees {
			row = append(row, big.NewInt(of(m.basis[r])))
		}
		equations = append(equations, append(row, time))
	}
	for s := range sources {
		equation(func(c column) int64 {
			if c.source == s {
				return 1
			}
			return 0
		}, new(big.Int))
	}
	for e, r := range room {
		if !left[e] {
			time := new(big.Int).Quo(r, common)
			equation(func(c column) int64 { return c.load[e] }, time.Neg(time))
		}
	}
	if len(equations) != len(trees)+1 {
		return nil
	}
	ones := make([]*big.Int, len(equations))
	for i := range ones {
		ones[i] = new(big.Int)
		if i < sources {
			ones[i].SetInt64(1)
		}
	}
	x := solveExactly(equations, ones)
	if x == nil {
		return nil
	}
	share := make([]*big.Rat, len(m.basis))
	for i, r := range trees {
		if share[r] = x[i]; x[i].Sign() < 0 {
			return nil
		}
	}
	return share
}
