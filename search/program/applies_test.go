package program

import (
	"fmt"
	"math/bits"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// applying returns a family's sets of parameters for a collective, its holes filled, or why it
// does not apply.
func applying(t *testing.T, b *Builder, f *templates.Family) (grid []script.Params, whys []string) {
	t.Helper()
	g, err := b.grid(t.Context(), f.Budgeted(b.machine), map[string]string{})
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	for _, r := range g.Refused {
		whys = append(whys, r.Detail)
	}
	if g.Why != "" {
		whys = append(whys, g.Why)
	}
	return g.Params, whys
}

// reasons are the reasons for which families are refused on systems of the catalogue, and
// whether a system bears a reason out, given the numbers in it.
var reasons = []struct {
	why  string
	true func(top *topologies.Topology, n []int) bool
}{
	{`^there is one node$`, func(top *topologies.Topology, _ []int) bool { return top.Nodes == 1 }},
	{`^no link from rank (\d+) to rank (\d+)$`, func(top *topologies.Topology, n []int) bool { return !top.Linked(n[0], n[1]) }},
	{`^no link between ranks (\d+) and (\d+)$`, func(top *topologies.Topology, n []int) bool {
		return !top.Linked(n[0], n[1]) || !top.Linked(n[1], n[0])
	}},
	{`^(\d+) ranks are no power of two$`, func(_ *topologies.Topology, n []int) bool { return bits.OnesCount(uint(n[0])) > 1 }},
	{`^(\d+) ranks are a power of two: recursive$`, func(_ *topologies.Topology, n []int) bool { return bits.OnesCount(uint(n[0])) == 1 }},
	{`^every two ranks are linked`, func(top *topologies.Topology, _ []int) bool {
		for a := range top.Ranks {
			for b := range top.Ranks {
				if a != b && !top.Linked(a, b) {
					return false
				}
			}
		}
		return true
	}},
	{`^every rank is linked with rank 0$`, func(top *topologies.Topology, _ []int) bool {
		for r := 1; r < len(top.Ranks); r++ {
			if !top.Linked(0, r) {
				return false
			}
		}
		return true
	}},
	{`^the links make no mesh$`, func(top *topologies.Topology, _ []int) bool { return !strings.Contains(top.Name, ":") }},
	{`^a tree of (\d+) GPUs is a chain$`, func(top *topologies.Topology, n []int) bool { return n[0] <= 3 }},
	{`no (?:tree|(\d+) trees) from gpu 0 of node 0.*: no link leads to node 1 and back$`, func(top *topologies.Topology, _ []int) bool {
		next := top.NodeRanks(1)
		return !slices.ContainsFunc(next, func(r int) bool { return top.Linked(0, r) }) || !slices.ContainsFunc(next, func(r int) bool { return top.Linked(r, 0) })
	}},
	{`no (\d+) rings: its links hold no such set of orders`, func(top *topologies.Topology, n []int) bool {
		ways := 0 // to the next node, which each ring needs one of
		for _, a := range top.NodeRanks(0) {
			for _, b := range top.NodeRanks(1) {
				if top.Linked(a, b) {
					ways++
				}
			}
		}
		return ways < n[0]
	}},
	{`no NIC for gpu (\d+) of a node`, func(top *topologies.Topology, n []int) bool {
		return slices.ContainsFunc(top.NodeRanks(1), func(r int) bool { return !top.Linked(n[0], r) || !top.Linked(r, n[0]) })
	}},
}

// borneOut reports whether a reason is known, and true of a system.
func borneOut(top *topologies.Topology, why string) bool {
	for _, r := range reasons {
		m := regexp.MustCompile(r.why).FindStringSubmatch(why)
		if m == nil {
			continue
		}
		var n []int
		for _, text := range m[1:] {
			v, _ := strconv.Atoi(text)
			n = append(n, v)
		}
		return r.true(top, n)
	}
	return false
}

// TestFamiliesOnTheCatalogue: on 1, 2 and 4 nodes of every system of the catalogue, every
// family applies to every collective that it does, or is refused for a reason that holds.
// But for COLLTUNE_LONG, on 2 nodes of a system of each kind.
func TestFamiliesOnTheCatalogue(t *testing.T) {
	twice := []string{"dgx-a100", "dgx-h100", "frontier", "l40s-4", "mi300x", "perlmutter", "polaris"}
	for _, name := range topologies.Names() {
		for _, nodes := range []int{1, 2, 4} {
			top := topotest.Resolve(t, name, nodes)
			if (nodes > 2 || nodes == 2 && !slices.Contains(twice, name) || len(top.Ranks) > 32) && os.Getenv("COLLTUNE_LONG") == "" {
				continue
			}
			t.Run(fmt.Sprintf("%d × %s", nodes, name), func(t *testing.T) {
				b := builderOn(t, top, "allreduce", Options{Simulated: true})
				for _, f := range templates.Builtin() {
					for _, name := range f.Collectives {
						b.target.Call, b.target.InPlace = collective.Call{Collective: name, Op: "sum", DType: "f32"}, collective.DefaultInPlace(name)
						b.holes.target = b.target // its rings and NICs are those of any collective
						grid, whys := applying(t, b, f)
						if len(grid) > 0 {
							continue
						}
						if len(whys) == 0 || slices.ContainsFunc(whys, func(why string) bool { return !borneOut(top, why) }) {
							t.Errorf("%s %s: %q", f.Name, name, whys)
						}
					}
				}
			})
		}
	}
}

// TestPapersOnTheirSystems: what the three papers run, on the systems that they run it on,
// with fewer nodes.
func TestPapersOnTheirSystems(t *testing.T) {
	for _, c := range []struct {
		paper, family, collective string
		parameters                script.Params
		systems                   []string
		nodes                     []int
	}{
		{"GC3 7.1", "ring", "allreduce", nil, []string{"ndv4", "dgx-2", "dgx-a100"}, []int{1}},
		{"GC3 7.1", "all-pairs", "allreduce", nil, []string{"ndv4", "dgx-2", "dgx-a100"}, []int{1}},
		{"GC3 7.2", "hierarchical", "allreduce", nil, []string{"ndv4", "dgx-2", "ndv2", "dgx-a100", "dgx-1"}, []int{2}},
		{"GC3 7.3", "two-step", "alltoall", nil, []string{"ndv4", "dgx-2", "ndv2", "dgx-a100", "dgx-1"}, []int{2, 4}},
		{"GC3 7.4", "multi-nic", "alltonext", nil, []string{"ndv4", "dgx-2", "ndv2", "dgx-a100", "dgx-1"}, []int{3, 4}},
		{"PCCL 4", "multi-level", "allgather", script.Params{"local": "ring", "cross": "recursive"}, []string{"frontier", "perlmutter"}, []int{4, 8}},
		{"PCCL 4", "multi-level", "reducescatter", script.Params{"local": "ring", "cross": "recursive"}, []string{"frontier", "perlmutter"}, []int{4, 8}},
		{"PCCL 4", "multi-level", "allreduce", script.Params{"local": "ring", "cross": "recursive"}, []string{"frontier", "perlmutter"}, []int{4, 8}},
		{"PCCL 3", "ring", "allgather", nil, []string{"frontier", "perlmutter"}, []int{4, 8}},
		{"PCCL 3", "ring", "reducescatter", nil, []string{"frontier", "perlmutter"}, []int{4, 8}},
		{"PCCL 3", "recursive-halving-doubling", "allgather", nil, []string{"perlmutter"}, []int{4}},
		{"MCR-DL V", "ring", "allreduce", nil, []string{"lassen", "thetagpu"}, []int{4}},
		{"MCR-DL V", "ring", "allgather", nil, []string{"lassen", "thetagpu"}, []int{4}},
		{"MCR-DL V", "direct", "alltoall", nil, []string{"lassen", "thetagpu"}, []int{4}},
	} {
		for _, system := range c.systems {
			for _, nodes := range c.nodes {
				f, err := templates.Find(templates.Builtin(), c.family, c.collective)
				if err != nil {
					t.Fatal(err)
				}
				grid, whys := applying(t, on(t, system, nodes, c.collective, Options{Simulated: true}), f)
				if !slices.ContainsFunc(grid, func(p script.Params) bool {
					for name, value := range c.parameters {
						if p[name] != value {
							return false
						}
					}
					return true
				}) {
					t.Errorf("%s: %s %s %v on %d × %s: %d sets of parameters, %q", c.paper, c.family, c.collective, c.parameters, nodes, system, len(grid), whys)
				}
			}
		}
	}
}
