package rings

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// encoding states ring orders as a formula:
//
//	at[k][i][s]    rank i is the s-th of ring k
//	step[k][i][j]  ring k steps from i to j; only for steps over scarce edges
type encoding struct {
	f  *constraints.Formula
	p  *problem
	at [][][]constraints.Lit
}

// encode states rings in which every step has at least the given width to itself.
//
// On one node a ring may start anywhere, so rank 0 comes first. Rings are
// interchangeable; that symmetry is not broken by constraints, which slow solvers
// down, but by the preference for the lexicographically first set of orders.
func (p *problem) encode(width units.Bandwidth) *encoding {
	f := constraints.NewFormula(fmt.Sprintf("%d rings of %s, each step %v", p.count, p.t.Name, width))
	e := &encoding{f: f, p: p}
	users := map[int][]constraints.Lit{} // by scarce edge: the steps that use it
	for k := range p.count {
		at := make([][]constraints.Lit, p.n)
		for i := range at {
			at[i] = make([]constraints.Lit, p.n)
			for s := range at[i] {
				at[i][s] = f.Bool(fmt.Sprintf("ring%d rank%d at%d", k, i, s))
			}
			f.Exactly(1, at[i]...)
		}
		for s := range p.n {
			f.Exactly(1, litsAt(at, s)...)
		}
		if len(p.nodes) == 1 {
			f.Clause(at[0][0])
		}
		p.encodeSteps(f, k, at, width, users)
		e.at = append(e.at, at)
		for s := range p.n {
			f.Prefer(litsAt(at, s)...)
		}
	}
	for _, edge := range slices.Sorted(maps.Keys(users)) {
		if c := p.capacity(edge, width); len(users[edge]) > c {
			f.AtMost(c, users[edge]...)
		}
	}
	return e
}

// encodeSteps states which rank may follow which in ring k.
func (p *problem) encodeSteps(f *constraints.Formula, k int, at [][]constraints.Lit, width units.Bandwidth, users map[int][]constraints.Lit) {
	for _, place := range []struct {
		table [][]*hop
		from  []int // positions at which the step may start
	}{
		{p.within, lists.UpTo(p.n - 1)},
		{p.closing, []int{p.n - 1}},
	} {
		for i := range p.n {
			var onward []int
			for j := range p.n {
				h := place.table[i][j]
				if h == nil || !p.wide(h, width) || i == j && p.n > 1 {
					continue
				}
				onward = append(onward, j)
				var step constraints.Lit
				for _, edge := range h.edges {
					if p.capacity(edge, width) >= p.maxUses(edge) {
						continue // it is wide enough for all rings
					}
					if step == 0 {
						step = f.Bool(fmt.Sprintf("ring%d steps %d %d", k, i, j))
					}
					users[edge] = append(users[edge], step)
				}
				if step != 0 {
					for _, s := range place.from {
						f.Implies([]constraints.Lit{at[i][s], at[j][(s+1)%p.n]}, step)
					}
				}
			}
			for _, s := range place.from {
				next := make([]constraints.Lit, len(onward))
				for m, j := range onward {
					next[m] = at[j][(s+1)%p.n]
				}
				f.Implies([]constraints.Lit{at[i][s]}, next...)
			}
		}
	}
}

// wide reports whether at least one ring may take a step.
func (p *problem) wide(h *hop, width units.Bandwidth) bool {
	return !slices.ContainsFunc(h.edges, func(e int) bool { return p.capacity(e, width) < 1 })
}

func litsAt(at [][]constraints.Lit, s int) []constraints.Lit {
	return lists.Map(at, func(lits []constraints.Lit) constraints.Lit { return lits[s] })
}

// decode reads the rings from a model; a position without a rank is -1.
func (e *encoding) decode(model []bool) [][]int {
	var all [][]int
	for _, at := range e.at {
		order := make([]int, e.p.n)
		for s := range order {
			order[s] = -1
			for i := range at {
				if at[i][s].Holds(model) {
					order[s] = i
				}
			}
		}
		all = append(all, order)
	}
	return all
}

func (p *problem) findByPositions(ctx context.Context, s *solver.Pool, width units.Bandwidth) (orders [][]int, by string, err error) {
	enc := p.encode(width)
	a, err := p.query(ctx, s, enc.f)
	switch {
	case err != nil:
		return nil, "", err
	case a.Status == solver.Timeout:
		return nil, "", &TimeoutError{p.t.Name, p.count, a.Detail + " (" + a.By + ")"}
	case a.Status == solver.Unsat:
		return nil, a.By, nil
	}
	orders = enc.decode(a.Model)
	for _, order := range orders {
		if slices.Contains(order, -1) {
			return nil, "", fmt.Errorf("ring order with a gap in it: %v", order)
		}
	}
	return orders, a.By, nil
}
