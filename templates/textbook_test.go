package templates

import (
	"math/big"
	"testing"

	"github.com/colltune/colltune/compiler/script"
)

func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

// TestTextbook holds the costs to the formulas of Thakur, Rabenseifner and Gropp
// (2005), and PCCL's section 2.2, where p is a power of two: steps, and what one
// rank sends of the size.
func TestTextbook(t *testing.T) {
	const p, lg = 16, 4
	for _, c := range []struct {
		family, coll string
		given        map[string]any
		steps        int
		over, under  int64
	}{
		{"ring", "allgather", nil, p - 1, p - 1, p},
		{"ring", "reducescatter", nil, p - 1, p - 1, p},
		{"ring", "allreduce", nil, 2 * (p - 1), 2 * (p - 1), p},
		{"recursive-halving-doubling", "allgather", nil, lg, p - 1, p},
		{"recursive-halving-doubling", "reducescatter", map[string]any{"first": "far"}, lg, p - 1, p},
		{"recursive-halving-doubling", "allreduce", nil, 2 * lg, 2 * (p - 1), p},
		{"recursive-doubling", "allreduce", nil, lg, lg, 1},
		{"bruck", "allgather", nil, lg, p - 1, p},
		{"bruck", "alltoall", nil, lg, lg, 2},
		{"k-nomial", "broadcast", nil, lg, p - 1, p},
		{"k-nomial", "gather", nil, lg, lg, 2 * p},
		{"scatter-allgather", "broadcast", nil, lg + p - 1, 2*(p-1) + lg, 2 * p},
		{"scatter-allgather", "reduce", map[string]any{"gather": "recursive"}, 2 * lg, 2*(p-1) + lg, 2 * p},
		{"direct", "alltoall", nil, 1, p - 1, p},
	} {
		f, err := Find(Builtin(), c.family, c.coll)
		if err != nil {
			t.Fatal(err)
		}
		cost, ok, err := f.Cost(script.Even(1, p), script.Request{Collective: c.coll}, c.given)
		if err != nil || !ok {
			t.Fatal(c.family, err)
		}
		each := cost.Wire.Quo(cost.Wire, ratio(p, 1))
		want := ratio(c.over, c.under)
		if cost.Steps != c.steps || each.Cmp(want) != 0 {
			t.Errorf("%s %s: %d steps, %v of the size a rank; the book says %d and %v", c.family, c.coll, cost.Steps, each, c.steps, want)
		}
	}
}
