package rings

import (
	"context"
	"errors"
	"slices"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
)

// findMirrored looks for half as many rings, and runs each of them in both directions
// (one of them in one direction if the number is odd). That is a smaller problem,
// with a solution on most systems whose links go both ways. If it has none, that
// proves nothing, and the result is nil.
func (p *problem) findMirrored(ctx context.Context, s *solver.Pool, width units.Bandwidth) (orders [][]int, by string, err error) {
	if p.bothWays || p.count < 2 || p.n < 3 || !p.evenLinks() {
		return nil, "", nil
	}
	half := *p
	half.count, half.bothWays = (p.count+1)/2, true
	orders, by, err = half.findByCuts(ctx, s, width)
	var late *TimeoutError
	if errors.As(err, &late) {
		return nil, "", nil
	}
	if orders == nil || err != nil {
		return nil, "", err
	}
	for _, order := range orders[:p.count/2] {
		back := slices.Clone(order)
		slices.Reverse(back)
		orders = append(orders, back)
	}
	if !p.fitsWidth(orders, width) {
		return nil, "", nil
	}
	return orders, by, nil
}

// evenLinks reports whether every step that exists does so in both directions.
func (p *problem) evenLinks() bool {
	for i := range p.n {
		for j := range i {
			if (p.within[i][j] == nil) != (p.within[j][i] == nil) || (p.closing[i][j] == nil) != (p.closing[j][i] == nil) {
				return false
			}
		}
	}
	return true
}
