package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// repeated returns a program of several copies of another on as many groups of ranks.
func repeated(p *ir.Program, copies int) *ir.Program {
	n := len(p.GPUs)
	b := build(p.Collective.Name, n*copies, p.Collective.Chunks*copies, p.Collective.InPlace)
	to := func(peer, by int) int {
		if peer < 0 {
			return peer
		}
		return peer + by
	}
	for i := range copies {
		for r, g := range p.GPUs {
			for _, tb := range g.Threadblocks {
				tb.Send, tb.Recv = to(tb.Send, i*n), to(tb.Recv, i*n)
				b.p.GPUs[i*n+r].Threadblocks = append(b.p.GPUs[i*n+r].Threadblocks, tb)
			}
		}
	}
	return b.p
}

// regularProgram returns a program of which parts do the same, and a system for it.
func regularProgram(t *rapid.T, tb testing.TB) (*ir.Program, *topologies.Topology) {
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	instances := rapid.IntRange(1, 4).Draw(t, "instances")
	n := 8 * nodes
	top := system(tb, "dgx-a100", nodes)
	switch rapid.SampledFrom([]string{"ring", "gather", "all pairs", "direct", "two-step", "copies", "meshes"}).Draw(t, "program") {
	case "ring":
		return ringAllReduce(order(n), instances), top
	case "gather":
		return ringAllGather(n, instances, 2, rapid.Bool().Draw(t, "fused")), top
	case "all pairs":
		return allPairsAllReduce(n, instances), top
	case "direct":
		return directAllToAll(n), top
	case "two-step":
		return twoStepAllToAll(nodes), top
	case "copies":
		return repeated(randomProgram(t, 8), nodes), top
	}
	return repeated(randomProgram(t, 3), 4), system(tb, "fullmesh:12", 1)
}

// Folding changes no time, bit for bit, nor how it is found, nor the bound.
func TestFoldingChangesNoTime(t *testing.T) {
	kept, whole := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		program, top := regularProgram(rt, t)
		if rapid.IntRange(0, 3).Draw(rt, "random") == 0 {
			top = randomSystem(rt, t)
			program = randomProgram(rt, len(top.Ranks))
		}
		if rapid.Bool().Draw(rt, "memories") {
			memory := rapid.SampledFrom([]units.Bandwidth{20e9, 100e9, 400e9}).Draw(rt, "memory")
			for i := range top.Ranks {
				top.Ranks[i].Memory = memory
			}
		}
		// What is regular is disturbed here and there.
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "slower links") {
			top.Edges[rapid.IntRange(0, len(top.Edges)-1).Draw(rt, "edge")].Bandwidth /= 2
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "copies more") {
			g := &program.GPUs[rapid.IntRange(0, len(program.GPUs)-1).Draw(rt, "rank")]
			if len(g.Threadblocks) > 0 {
				tb := &g.Threadblocks[rapid.IntRange(0, len(g.Threadblocks)-1).Draw(rt, "threadblock")]
				tb.Steps = append(tb.Steps, ir.Step{Op: ir.Copy, Count: 1})
			}
		}
		folded, err := Prepare(program, top)
		if err != nil {
			rt.Fatal(err)
		}
		unfolded, err := PrepareUnfolded(program, top)
		if err != nil {
			rt.Fatal(err)
		}
		kept, whole = kept+len(folded.blocks), whole+len(unfolded.blocks)
		for range 2 {
			k := randomKnobs(rt, top)
			got, err := folded.Run(k)
			want, failed := unfolded.Run(k)
			if failed != nil { // a two-step program may have too few slots
				stuck, _, _ := strings.Cut(failed.Error(), "wait:")
				if err == nil || !strings.HasPrefix(err.Error(), stuck) {
					rt.Fatalf("%+v: %v, unfolded %v", k, err, failed)
				}
				continue
			}
			if err != nil {
				rt.Fatal(err)
			}
			if got.Events > want.Events {
				rt.Fatalf("%+v: %d events, unfolded %d", k, got.Events, want.Events)
			}
			if got.Events = want.Events; got != want {
				rt.Fatalf("%+v: %+v, unfolded %+v", k, got, want)
			}
			if a, b := folded.LowerBound(k), unfolded.LowerBound(k); a != b {
				rt.Fatalf("%+v: bound %v us, unfolded %v", k, a, b)
			}
		}
	})
	t.Logf("%d of %d threadblocks kept", kept, whole)
}

// What is regular is folded to the threadblocks, lanes and edges that differ.
func TestFolds(t *testing.T) {
	for _, c := range []struct {
		name                 string
		program              *ir.Program
		on                   string
		nodes                int
		blocks, lanes, edges int
	}{
		{"ring", ringAllReduce(order(8), 24), "dgx-a100", 1, 1, 2, 3},
		{"ring of 2,048", ringAllGather(2048, 1, 1, true), "hub:2048", 1, 1, 1, 2},
		{"direct", directAllToAll(8), "dgx-a100", 1, 2, 2, 3},
		{"direct over nodes", directAllToAll(32), "dgx-a100", 4, 3, 3, 7},
		// Every node waits for the others in an order of its own: 8 × (7 to other nodes, 1 inside).
		{"two-step", twoStepAllToAll(8), "dgx-a100", 8, 64, 72, 56},
	} {
		p, err := Prepare(c.program, system(t, c.on, c.nodes))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.blocks) != c.blocks || len(p.lanes) != c.lanes || len(p.edges) != c.edges {
			t.Errorf("%s: %d threadblocks, %d lanes, %d edges", c.name, len(p.blocks), len(p.lanes), len(p.edges))
		}
	}
}

// Refinement finds the classes that comparing all nodes again and again finds.
func TestRefinement(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type arc struct {
			node, other int32
			role        uint64
		}
		n := rapid.IntRange(1, 40).Draw(rt, "nodes")
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = rapid.Uint64Range(0, 2).Draw(rt, "key")
		}
		node := rapid.Int32Range(0, int32(n)-1)
		arcs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) arc {
			return arc{node.Draw(t, "node"), node.Draw(t, "other"), rapid.Uint64Range(0, 1).Draw(t, "role")}
		}), 0, 3*n).Draw(rt, "arcs")
		if rapid.Bool().Draw(rt, "ring") {
			arcs = arcs[:0]
			for i := range int32(n) {
				arcs = append(arcs, arc{i, (i + 1) % int32(n), 0})
			}
		}
		got := refine(keys, func(reads read) {
			for _, a := range arcs {
				reads(a.node, a.other, a.role)
			}
		})
		// A node's class of the next round is named by its own and by those of what it reads.
		want := make([]int, n)
		for classes, before := 1, 0; classes != before; {
			before = classes
			names, next := map[string]int{}, make([]int, n)
			for i := range n {
				var seen []string
				for _, a := range arcs {
					if a.node == int32(i) {
						seen = append(seen, fmt.Sprint(a.role, want[a.other]))
					}
				}
				slices.Sort(seen)
				name := fmt.Sprint(keys[i], want[i], seen)
				if _, ok := names[name]; !ok {
					names[name] = len(names)
				}
				next[i] = names[name]
			}
			want, classes = next, len(names)
		}
		for i := range n {
			for j := range i {
				if (got[i] == got[j]) != (want[i] == want[j]) {
					rt.Fatalf("nodes %d and %d: classes %v, want as in %v", j, i, got, want)
				}
			}
		}
	})
}
