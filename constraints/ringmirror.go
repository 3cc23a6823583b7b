package constraints

import (
	"context"
	"errors"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// askMirrored looks for half as many rings, each of which is then run the other
// way round as well, but for one where they are odd: a smaller question, which has
// an answer on most systems whose links go both ways. Where it has none nothing is
// proved: nil.
func (p *ringProblem) askMirrored(ctx context.Context, s *Solvers, width units.Bandwidth) (orders [][]int, by string, err error) {
	if p.bothWays || p.count < 2 || p.n < 3 || !p.evenLinks() {
		return nil, "", nil
	}
	half := *p
	half.count, half.bothWays = (p.count+1)/2, true
	orders, by, err = half.askByCuts(ctx, s, width)
	var late *RingTimeoutError
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
	if !p.fits(orders, width) {
		return nil, "", nil
	}
	return orders, by, nil
}

// evenLinks tells whether every step that exists does so both ways.
func (p *ringProblem) evenLinks() bool {
	for i := range p.n {
		for j := range i {
			if (p.in[i][j] == nil) != (p.in[j][i] == nil) || (p.close[i][j] == nil) != (p.close[j][i] == nil) {
				return false
			}
		}
	}
	return true
}
