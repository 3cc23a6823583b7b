package constraints

import (
	"context"
	"time"

	"github.com/colltune/colltune/internal/units"
)

// solve finds orders of a node, as wide as possible.
func (p *ringProblem) solve(ctx context.Context, s *Solvers) (orders [][]int, by string, err error) {
	why, err := p.refute(ctx)
	if err != nil {
		return nil, "", err
	}
	if why != "" {
		return nil, "", &NoRingError{p.t.Name, p.count, why, ""}
	}
	widths := p.widths(ctx)
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	widest := units.Bandwidth(1)
	if len(widths) > 0 {
		widest = widths[0]
	}
	if orders, by := p.obvious(widest); orders != nil {
		return orders, by, nil
	}
	// If there are rings of some width, there are rings of every smaller one, so a
	// binary search finds the greatest.
	for lo, hi := 0, len(widths); lo < hi; {
		mid := (lo + hi) / 2
		found, who, err := p.ask(ctx, s, widths[mid])
		if err != nil {
			return nil, "", err
		}
		by = who
		if found != nil {
			orders, hi = found, mid
		} else {
			lo = mid + 1
		}
	}
	if orders == nil && by == "packing" {
		return nil, "", &NoRingError{p.t.Name, p.count, p.why, ""}
	}
	if orders == nil {
		return nil, "", &NoRingError{p.t.Name, p.count, p.proved(by), by}
	}
	return orders, by, nil
}

// ask looks for orders of at least a width, with solvers as the last resort. It
// returns nil if there are none.
func (p *ringProblem) ask(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	if orders, settled := p.askByCounts(width); settled {
		return orders, "counting", nil
	}
	switch orders, why, is := p.askByPacking(ctx, width); is {
	case packed:
		return orders, "packing", nil
	case impossible:
		p.why = why
		return nil, "packing", nil
	}
	if orders := p.askByExchange(width); orders != nil {
		return orders, "exchange", nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	return p.askSolvers(ctx, s, width)
}

// settled is the size, in ranks of a node times rings, up to which solvers are asked
// for the lexicographically first set of rings, on nodes of up to packedRanks.
const settled = 56

// askSolvers is ask for what only solvers can settle.
func (p *ringProblem) askSolvers(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	if p.noSolver {
		return nil, "", &RingTimeoutError{p.t.Name, p.count, "no solver was asked"}
	}
	if p.n > packedRanks || p.n*p.count > settled {
		return p.askByCuts(ctx, s, width)
	}
	return p.askByPositions(ctx, s, width)
}

// query asks solvers, within what is left of their work.
func (p *ringProblem) query(ctx context.Context, s *Solvers, f *Formula, first ...string) (Answer, error) {
	if p.workLeft == nil {
		return s.SolveInOrder(ctx, f, first...)
	}
	if *p.workLeft < time.Microsecond {
		return Answer{Status: Timeout, Detail: "solvers have done what work they may"}, nil
	}
	a, err := s.SolveWithin(ctx, *p.workLeft, f, first...)
	*p.workLeft -= a.Work
	return a, err
}
