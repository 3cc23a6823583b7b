package rings

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
)

// solve finds orders of a node whose narrowest step is as wide as possible. by names
// the method.
func (p *problem) solve(ctx context.Context, s *solver.Pool) (orders [][]int, by string, err error) {
	if why := p.refute(); why != "" {
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
	if orders, by := p.trivialOrders(widest); orders != nil {
		return orders, by, nil
	}
	// Rings of a width are also rings of every smaller width, so a binary search
	// finds the greatest.
	for lo, hi := 0, len(widths); lo < hi; {
		mid := (lo + hi) / 2
		found, who, err := p.findAtWidth(ctx, s, widths[mid])
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
		return nil, "", &NoRingError{p.t.Name, p.count, p.refutation, ""}
	}
	if orders == nil {
		why := fmt.Sprintf("no order of its GPUs has a link at every step (proved by %s)", by)
		if p.count > 1 {
			why = fmt.Sprintf("its links hold no such set of orders (proved by %s)", by)
		}
		return nil, "", &NoRingError{p.t.Name, p.count, why, by}
	}
	return orders, by, nil
}

// findAtWidth looks for orders of at least a width, by solvers only if no other
// method settles it. It returns nil orders if there are none.
func (p *problem) findAtWidth(ctx context.Context, s *solver.Pool, width units.Bandwidth) (orders [][]int, by string, err error) {
	if orders, settled := p.findByCounting(width); settled {
		return orders, "counting", nil
	}
	switch orders, why, is := p.findByPacking(ctx, width); is {
	case packed:
		return orders, "packing", nil
	case impossible:
		p.refutation = why
		return nil, "packing", nil
	}
	if orders := p.findByExchange(width); orders != nil {
		return orders, "exchange", nil
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	switch {
	case p.noSolver:
		return nil, "", &TimeoutError{p.t.Name, p.count, "no solver was asked"}
	case p.n*p.count > maxPositions:
		return nil, "", &TimeoutError{p.t.Name, p.count, fmt.Sprintf("solvers are asked about at most %d positions, one for each rank of a node in each ring", maxPositions)}
	}
	return p.findByPositions(ctx, s, width)
}

// maxPositions is the number of ranks of a node times rings up to which solvers are
// asked.
const maxPositions = 64

// query asks solvers, within the work that is left.
func (p *problem) query(ctx context.Context, s *solver.Pool, f *constraints.Formula, first ...string) (solver.Answer, error) {
	if p.workLeft == nil {
		return s.SolveInOrder(ctx, f, first...)
	}
	if *p.workLeft < time.Microsecond {
		return solver.Answer{Status: solver.Timeout, Detail: "solvers have done what work they may"}, nil
	}
	a, err := s.SolveWithin(ctx, *p.workLeft, f, first...)
	*p.workLeft -= a.Work
	return a, err
}
