package templates

import (
	"flag"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/topologies"
)

var everywhere = flag.Bool("everywhere", false, "compile every family on every system of the catalogue, of 1 to 5 nodes: minutes")

// TestCatalogue compiles every family, with the first and the last of its
// parameters, for every collective on the systems of the catalogue: of 1 to 5
// nodes with -everywhere, else of one number that goes round.
func TestCatalogue(t *testing.T) {
	const mostRanks = 40
	for i, name := range topologies.Names() {
		for nodes := 1; nodes <= 5; nodes++ {
			if !*everywhere && nodes != 1+i%3 {
				continue
			}
			top, err := topologies.Resolve(name, topologies.Options{Nodes: nodes})
			if err != nil {
				t.Fatal(err)
			}
			if len(top.Ranks) > mostRanks || !*everywhere && len(top.Ranks) > 16 {
				continue
			}
			t.Run(fmt.Sprintf("%s×%d", name, nodes), func(t *testing.T) {
				t.Parallel()
				m := machineOf(top)
				for _, f := range Builtin() {
					for _, c := range f.Collectives {
						all := requests(c, m)
						q := all[len(all)-1]
						grid, err := f.GridFor(m, q, nil)
						if err != nil {
							t.Fatal(err)
						}
						for j := range grid {
							if j == 0 || j == len(grid)-1 && *everywhere {
								matrixEntry(t, f, m, q, grid[j])
							}
						}
					}
				}
			})
		}
	}
}

// machineOf is a system as templates see it.
func machineOf(top *topologies.Topology) script.Machine {
	m := script.Machine{Nodes: top.Nodes, Linked: top.Linked}
	for n := range top.Nodes {
		m.GPUsPerNode = append(m.GPUsPerNode, len(top.NodeRanks(n)))
	}
	return m
}
