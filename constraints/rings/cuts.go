package rings

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
)

// For systems too large for encoding, the formula only has a variable for each
// step. If the steps of a model form several loops (subtours), a constraint that cuts
// them off is added, and the query is repeated, as for the travelling salesman
// problem (Dantzig, Fulkerson and Johnson 1954):
//
//	step[k][i][j]   ring k steps from i to j; one from each rank, one to each
//
//	  ┌─▶ 0 ─▶ 1 ─┐   ┌─▶ 4 ─▶ 5 ─┐
//	  └── 3 ◀─ 2 ◀┘   └── 7 ◀─ 6 ◀┘     cut: a step leads out of {0,1,2,3}
//
// Each query finds rings or excludes the loops that it found, so this terminates. All
// rings satisfy the cuts, so if the formula becomes unsatisfiable, there are no rings.
type cutter struct {
	f     *constraints.Formula
	p     *problem
	steps [][]step // by ring, sorted by (from, to, closes)
}

// step is a step that a ring may take.
type step struct {
	from, to int
	closes   bool // it leads into the next node
	lit      constraints.Lit
}

// maxCutRounds limits the number of queries.
const maxCutRounds = 10_000

// findByCuts is findAtWidth by this encoding.
func (p *problem) findByCuts(ctx context.Context, s *solver.Pool, width units.Bandwidth) (orders [][]int, by string, err error) {
	if orders, by, err := p.findMirrored(ctx, s, width); orders != nil || err != nil {
		return orders, by, err
	}
	c := p.cuts(width)
	start := time.Now()
	for range maxCutRounds {
		a, err := p.query(ctx, s, c.f, "pb") // much faster than z3 for these formulas
		switch {
		case err != nil:
			return nil, "", err
		case a.Status == solver.Unsat:
			return nil, a.By, nil
		case a.Status == solver.Timeout:
			return nil, "", &TimeoutError{p.t.Name, p.count, a.Detail + " (" + a.By + ")"}
		}
		if orders := c.decode(a.Model); orders != nil {
			return orders, a.By, nil
		}
		if p.workLeft == nil && time.Since(start) > s.Timeout() {
			break
		}
	}
	return nil, "", &TimeoutError{p.t.Name, p.count, "its orders kept falling apart into loops"}
}

// cuts states the steps, how links are shared, and the cuts for all loops of two
// ranks.
func (p *problem) cuts(width units.Bandwidth) *cutter {
	c := &cutter{p: p, f: constraints.NewFormula(fmt.Sprintf("steps of %d rings of %s, each %v", p.count, p.t.Name, width))}
	users := map[int][]constraints.Lit{}
	for k := range p.count {
		var steps []step
		add := func(table [][]*hop, i, j int, closes bool) {
			h := table[i][j]
			if h == nil || i == j || !p.wide(h, width) {
				return
			}
			st := step{i, j, closes, c.f.Bool(fmt.Sprintf("ring%d steps %d %d", k, i, j))}
			steps = append(steps, st)
			taken := h.edges
			if p.bothWays {
				taken = append(slices.Clone(taken), table[j][i].edges...)
			}
			for _, e := range taken {
				if p.capacity(e, width) < p.maxUses(e) {
					users[e] = append(users[e], st.lit)
				}
			}
		}
		for i := range p.n {
			for j := range p.n {
				add(p.within, i, j, false)
				if !p.singleNode() {
					add(p.closing, i, j, true)
				}
			}
		}
		c.stateDegrees(steps)
		c.steps = append(c.steps, steps)
	}
	edges := make([]int, 0, len(users))
	for e := range users {
		edges = append(edges, e)
	}
	sort.Ints(edges)
	for _, e := range edges {
		c.f.AtMost(p.capacity(e, width), users[e]...)
	}
	return c
}

// stateDegrees requires of a ring exactly one step from each rank, one to each rank,
// and one that closes it.
func (c *cutter) stateDegrees(steps []step) {
	from, to := make([][]constraints.Lit, c.p.n), make([][]constraints.Lit, c.p.n)
	between := map[[2]int][]constraints.Lit{} // by pair of ranks, lower first
	var closing []constraints.Lit
	for _, st := range steps {
		from[st.from] = append(from[st.from], st.lit)
		to[st.to] = append(to[st.to], st.lit)
		if st.closes {
			closing = append(closing, st.lit)
		}
		pair := [2]int{min(st.from, st.to), max(st.from, st.to)}
		between[pair] = append(between[pair], st.lit)
	}
	for i := range c.p.n {
		c.f.Exactly(1, from[i]...)
		c.f.Exactly(1, to[i]...)
	}
	if !c.p.singleNode() {
		c.f.Exactly(1, closing...)
	}
	if c.p.n < 3 {
		return
	}
	for _, st := range steps {
		pair := [2]int{st.from, st.to}
		if lits := between[pair]; st.from < st.to && len(lits) > 1 {
			c.f.AtMost(1, lits...)
			delete(between, pair)
		}
	}
}

// decode follows the steps of a model. It returns the orders; if the steps form
// several loops, it cuts them off and returns nil.
func (c *cutter) decode(model []bool) [][]int {
	var orders [][]int
	whole := true
	for _, steps := range c.steps {
		next := make([]int, c.p.n)
		first := 0
		for _, st := range steps {
			if st.lit.Holds(model) {
				next[st.from] = st.to
				if st.closes {
					first = st.to
				}
			}
		}
		seen := make([]bool, c.p.n)
		for i := range c.p.n {
			if seen[i] {
				continue
			}
			var loop []int
			for j := i; !seen[j]; j = next[j] {
				seen[j] = true
				loop = append(loop, j)
			}
			if len(loop) < c.p.n {
				whole = false
				c.cutOff(loop)
			}
		}
		order := make([]int, c.p.n)
		for s, i := 0, first; s < c.p.n; s, i = s+1, next[i] {
			order[s] = i
		}
		orders = append(orders, order)
	}
	if !whole {
		return nil
	}
	return orders
}

// cutOff requires of every ring a step that leaves the loop's ranks.
func (c *cutter) cutOff(loop []int) {
	inside := make([]bool, c.p.n)
	for _, i := range loop {
		inside[i] = true
	}
	for _, steps := range c.steps {
		var out []constraints.Lit
		for _, st := range steps {
			if inside[st.from] && !inside[st.to] {
				out = append(out, st.lit)
			}
		}
		c.f.Clause(out...)
	}
}
