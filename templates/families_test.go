package templates

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// shapes are the machines every family is tried on: 1 to 4 nodes of 1 to 8
// GPUs, and nodes that differ.
func shapes() []script.Machine {
	var all []script.Machine
	for nodes := 1; nodes <= 4; nodes++ {
		for gpus := 1; gpus <= 8; gpus++ {
			all = append(all, script.Even(nodes, gpus))
		}
	}
	return append(all,
		script.Machine{Nodes: 2, GPUsPerNode: []int{3, 2}},
		script.Machine{Nodes: 3, GPUsPerNode: []int{1, 4, 3}})
}

// TestFamiliesTrace traces every family with every set of parameters on every
// shape where it says it applies; the trace checks the postcondition. Large
// machines take the corners of the grid only, for time.
func TestFamiliesTrace(t *testing.T) {
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				traced := 0
				for _, m := range shapes() {
					for _, inPlace := range []bool{false, true} {
						for _, root := range roots(c, m, inPlace) {
							q := script.Request{Collective: c, Root: root, InPlace: inPlace}
							grid, err := f.GridFor(m, q, nil)
							if err != nil {
								t.Fatal(err)
							}
							if m.Ranks() > 8 && len(grid) > 2 {
								grid = []script.Params{grid[0], grid[len(grid)-1]}
							}
							for _, p := range grid {
								traced++
								if _, err := f.Trace(m, q, p); err != nil {
									t.Errorf("%d nodes %v, %+v, %v: %v", m.Nodes, m.GPUsPerNode, q, p, err)
								}
							}
						}
					}
				}
				if traced == 0 {
					t.Error("it applies nowhere")
				}
			})
		}
	}
}

// roots are the roots to try; none where the collective has no such form.
func roots(coll string, m script.Machine, inPlace bool) []int {
	c, err := collective.New(collective.Spec{Name: coll, Ranks: m.Ranks(), Chunks: 1, InPlace: inPlace})
	switch {
	case err != nil:
		return nil
	case c.Rooted() && m.Ranks() > 1:
		return []int{0, m.Ranks() - 1}
	}
	return []int{0}
}
