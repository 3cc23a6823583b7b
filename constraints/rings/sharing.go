package rings

import (
	"context"
	"errors"

	"github.com/colltune/colltune/topologies"
)

// Sharing finds a number of ring orders of one node that take each link between two GPUs at most
// twice, where that is worth it: where no half as many share no link. Four GPUs that are all linked
// have no three such rings, but six that share each link between two. It returns nil otherwise, and
// asks no solver.
func Sharing(ctx context.Context, t *topologies.Topology, count int) [][]int {
	if t.Nodes != 1 || count < 3 {
		return nil
	}
	var none *NoRingError
	if _, err := Find(ctx, nil, t, Options{Count: (count + 1) / 2, NoSolver: true}); !errors.As(err, &none) {
		return nil
	}
	twice := t.Clone()
	for i := range twice.Edges {
		twice.Edges[i].Count *= 2
	}
	found, err := Find(ctx, nil, twice, Options{Count: count, NoSolver: true})
	if err != nil {
		return nil
	}
	return found.Orders
}
