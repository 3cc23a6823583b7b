package constraints_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/formulatest"
)

// The normal form holds for the same values as the original rows.
func TestNormalFormMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		f := formulatest.Random(r, 1+r.IntN(7))
		var rows []constraints.NormalRow
		f.Normal(func(n constraints.NormalRow) {
			rows = append(rows, constraints.NormalRow{Lits: slices.Clone(n.Lits), Weights: slices.Clone(n.Weights), Bound: n.Bound})
		})
		for _, n := range rows {
			seen := map[int]bool{}
			for i, l := range n.Lits {
				if seen[l.Variable()] || n.Weights != nil && (n.Weights[i] < 1 || n.Weights[i] > n.Bound) {
					t.Fatalf("row %+v is not normal", n)
				}
				seen[l.Variable()] = true
			}
			if n.Bound < 1 {
				t.Fatalf("row %+v always holds", n)
			}
		}
		formulatest.Models(f.Variables(), func(m []bool) {
			ok := true
			for _, n := range rows {
				sum := 0
				for i, l := range n.Lits {
					if l.Holds(m) {
						if n.Weights != nil {
							sum += n.Weights[i]
						} else {
							sum++
						}
					}
				}
				ok = ok && sum >= n.Bound
			}
			if ok != (f.Check(m) == nil) {
				t.Fatalf("model %v: normal form says %v, the formula %v", m, ok, f.Check(m))
			}
		})
	})
}
