package templates

import (
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// shapes returns the machines every family is tried on: 1 to 4 nodes of 1 to 8
// GPUs, and nodes that differ.
func shapes() []script.Machine {
	var all []script.Machine
	for nodes := 1; nodes <= 4; nodes++ {
		for gpus := 1; gpus <= 8; gpus++ {
			if nodes*gpus <= 14 || gpus == 8 && nodes == 4 {
				all = append(all, script.Even(nodes, gpus))
			}
		}
	}
	return append(all,
		script.Machine{Nodes: 2, GPUsPerNode: []int{3, 2}},
		script.Machine{Nodes: 3, GPUsPerNode: []int{1, 4, 3}},
		ringMachine(6), meshMachine(false, 3, 5), meshMachine(true, 3, 4), meshMachine(true, 3, 2, 2), meshMachine(false, 7))
}

// ringMachine links each rank with the two beside it.
func ringMachine(n int) script.Machine { return meshMachine(true, n) }

// meshMachine links each rank with those one place away in one dimension, and
// the ends as well if it is a torus.
func meshMachine(torus bool, sides ...int) script.Machine {
	n := 1
	for _, s := range sides {
		n *= s
	}
	m := script.Even(1, n)
	m.Linked = func(a, b int) bool {
		differ, near := 0, 0
		for i := len(sides) - 1; i >= 0; i-- {
			s := sides[i]
			d := (b%s - a%s + s) % s
			if d != 0 {
				differ++
			}
			if (d == 1 || d == s-1) && (torus || b%s-a%s == 1 || a%s-b%s == 1) {
				near++
			}
			a, b = a/s, b/s
		}
		return differ == 1 && near == 1
	}
	return m
}

// requests returns the calls to try: both placements, the first and the last root,
// and for the vector forms counts that differ, some of them 0.
func requests(coll string, m script.Machine) (all []script.Request) {
	for _, inPlace := range []bool{false, true} {
		for _, root := range roots(coll, m, inPlace) {
			q := script.Request{Collective: coll, Root: root, InPlace: inPlace}
			all = append(all, q)
			n := collective.CountsOf(coll, m.Ranks())
			if n == 0 {
				continue
			}
			for i := range n {
				q.Counts = append(q.Counts, (i*i+i+n)%4)
			}
			if slices.Max(q.Counts) > 0 {
				all = append(all, q)
			}
		}
	}
	return all
}

// TestFamiliesTrace traces every family with every set of parameters on every
// shape where it says it applies; the trace checks the postcondition. For time, large
// machines take the corners of the grid only; and but for COLLTUNE_LONG=1, those of more
// than 4 ranks take four sets of it, others from call to call.
func TestFamiliesTrace(t *testing.T) {
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				traced, turn := 0, 0
				for _, m := range shapes() {
					for _, q := range requests(c, m) {
						grid, err := f.GridFor(m, q, nil, 1)
						if err != nil {
							t.Fatal(err)
						}
						if m.Ranks() > 8 && len(grid) > 2 {
							grid = []script.Params{grid[0], grid[len(grid)-1]}
						}
						stride := 1
						if m.Ranks() > 4 && !everything() {
							stride = (len(grid) + 3) / 4
						}
						turn++
						for i := turn % max(stride, 1); i < len(grid); i += stride {
							p := grid[i]
							traced++
							if _, err := f.Trace(m, q, p); err != nil {
								t.Errorf("%d nodes %v, %+v, %v: %v", m.Nodes, m.GPUsPerNode, q, p, err)
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

// roots returns the roots to try; none where the collective has no such form.
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
