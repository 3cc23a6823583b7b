package templates

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// TestVectorForms draws counts, most of them small and many of them 0, for every
// family with a vector form on machines of all shapes; what it compiles is
// executed by the verifier, and the family's formula is held to what is counted.
func TestVectorForms(t *testing.T) {
	grids := []script.Machine{ringMachine(4), meshMachine(false, 3, 4), meshMachine(true, 3, 3), meshMachine(true, 2, 2, 3)}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			if collective.CountsOf(c, 1) == 0 {
				continue
			}
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				compiled := 0
				rapid.Check(t, func(rt *rapid.T) {
					m := script.Even(rapid.IntRange(1, 4).Draw(rt, "nodes"), rapid.IntRange(1, 4).Draw(rt, "GPUs"))
					if f.Name == "grid" || f.Name == "routed" {
						m = rapid.SampledFrom(grids).Draw(rt, "machine")
					}
					count := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 3), rapid.IntRange(0, 50))
					n := collective.CountsOf(c, m.Ranks())
					q := script.Request{Collective: c, InPlace: collective.DefaultInPlace(c), Counts: rapid.SliceOfN(count, n, n).Draw(rt, "counts")}
					if slices.Max(q.Counts) == 0 {
						q.Counts[0] = 1
					}
					if c == "gatherv" || c == "scatterv" {
						q.Root = rapid.IntRange(0, m.Ranks()-1).Draw(rt, "root")
					}
					grid, err := f.GridFor(m, q, nil, 1)
					if err != nil {
						rt.Fatal(err)
					}
					if len(grid) == 0 {
						return
					}
					compiled++
					compileAndVerify(rt, f, m, q, rapid.SampledFrom(grid).Draw(rt, "parameters"))
				})
				if compiled < 10 {
					t.Errorf("only %d programs", compiled)
				}
			})
		}
	}
}
