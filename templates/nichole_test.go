package templates

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints/nics"
)

// byNICs returns the families that can be told which NICs to use.
func byNICs() (some []*Family) {
	for _, f := range Builtin() {
		for _, h := range f.Holes() {
			if h.Hole == script.HoleNICs {
				some = append(some, f)
			}
		}
	}
	return some
}

// entry compiles and verifies a program, and holds it to its family's formula.
func entry(t *rapid.T, f *Family, m script.Machine, q script.Request, p script.Params) {
	name := fmt.Sprintf("%s %+v on %d x %v, %v", f.Name, q, m.Nodes, m.GPUsPerNode, p)
	program, err := f.Trace(m, q, p)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiled, err := compiler.Compile(program, compiler.Options{MaxChannels: 1 << 10})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := verify.Check(compiled.Program, verify.Options{Slots: 2, Linked: m.Linked}).Err(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := measure(t, compiled.Program)
	if said, _, err := f.Cost(m, q, p); err != nil || got.steps != said.Steps || got.wire.Cmp(said.Wire) != 0 {
		t.Fatalf("%s: it says %d steps and %v on the wire; counted are %d and %v (%v)", name, said.Steps, said.Wire, got.steps, got.wire, err)
	}
}

// TestAnyNICs: by whichever GPUs a node sends and receives, the programs are right,
// cost what their families say, and between nodes send over those GPUs alone.
func TestAnyNICs(t *testing.T) {
	families := byNICs()
	if len(families) < 5 {
		t.Fatalf("%d families take NICs", len(families))
	}
	rapid.Check(t, func(t *rapid.T) {
		nodes, gpus := rapid.IntRange(2, 4).Draw(t, "nodes"), rapid.IntRange(2, 4).Draw(t, "gpus")
		choice := func(name string) []int {
			return rapid.SliceOfN(rapid.IntRange(0, gpus-1), gpus, gpus).Draw(t, name)
		}
		out, in := choice("out"), choice("in")
		m := script.Even(nodes, gpus)
		m.Linked = func(a, b int) bool {
			if a/gpus == b/gpus {
				return true
			}
			sends, receives := false, false
			for g := range gpus {
				sends = sends || out[g] == a%gpus
				receives = receives || in[g] == b%gpus
			}
			return sends && receives
		}
		f := rapid.SampledFrom(families).Draw(t, "family")
		q := rapid.SampledFrom(requests(rapid.SampledFrom(f.Collectives).Draw(t, "collective"), m)).Draw(t, "request")
		value := script.FormatValue([][]int{out, in})
		grid, err := f.GridFor(m, q, map[string]string{"nics": value}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if both := slices.ContainsFunc(out, func(g int) bool { return slices.Contains(in, g) }); !both && f.Name == "double-binary-tree" {
			if len(grid) > 0 {
				t.Fatalf("%s %s applies with nics=%s, which leave no GPU to enter by", f.Name, q.Collective, value)
			}
			return
		}
		if len(grid) == 0 {
			t.Fatalf("%s %s does not apply with nics=%s", f.Name, q.Collective, value)
		}
		entry(t, f, m, q, rapid.SampledFrom(grid).Draw(t, "parameters"))
	})
}

// TestOwnNICsSpelledOut: that everybody uses its own NIC is what a family does
// unasked, operation by operation.
func TestOwnNICsSpelledOut(t *testing.T) {
	m := script.Even(4, 3)
	for _, f := range byNICs() {
		for _, coll := range f.Collectives {
			for _, q := range requests(coll, m) {
				plain, err := f.Trace(m, q, nil)
				if err != nil {
					t.Fatal(err)
				}
				told, err := f.Trace(m, q, map[string]any{"nics": []int{0, 1, 2}})
				if err != nil {
					t.Fatal(err)
				}
				if len(plain.Ops) != len(told.Ops) {
					t.Errorf("%s %+v: %d operations, told so %d", f.Name, q, len(plain.Ops), len(told.Ops))
				}
			}
		}
	}
}

// TestNICsOfTECCL: on TE-CCL's DGX-2, where odd GPUs send and even ones
// receive, the families that know a node's GPUs by their numbers apply by the
// NICs that are found, and not without. Trees need GPUs that do both.
func TestNICsOfTECCL(t *testing.T) {
	for nodes := 2; nodes <= 3; nodes++ {
		top := system{"dgx-2-teccl", []int{0, 1, 2, 3}, 3}.of(t, nodes)
		found, err := nics.Choose(top)
		if err != nil {
			t.Fatal(err)
		}
		m := machineOf(top)
		for _, f := range byNICs() {
			for _, coll := range f.Collectives {
				q := requests(coll, m)[0]
				without, err := f.GridFor(m, q, nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				with, err := f.GridFor(m, q, map[string]string{"nics": script.FormatValue(found.Lists())}, 1)
				if err != nil {
					t.Fatal(err)
				}
				if trees := f.Name == "double-binary-tree"; trees && len(without)+len(with) == 0 {
					continue
				}
				if len(without) > 0 || len(with) == 0 {
					t.Errorf("%s %s: %d routings without a choice of NICs, %d with %v", f.Name, coll, len(without), len(with), found.Lists())
					continue
				}
				matrixEntry(t, f, m, q, with[0])
			}
		}
	}
}

// TestNICsRefuse: a choice that is none of the machine's is refused, and why.
func TestNICsRefuse(t *testing.T) {
	m := script.Even(2, 3)
	m.Linked = func(a, b int) bool { return a/3 == b/3 || a%3 == 1 && b%3 == 1 }
	for _, c := range []struct {
		family, coll string
		nics         []int
		want         string
	}{
		{"two-step", "alltoall", []int{0, 1, 2}, "no link from rank 0 to GPU 0 of node 1"},
		{"three-step", "alltoall", []int{1, 1, 0}, "no link from rank 0 to GPU 0 of node 1"},
		{"multi-nic", "alltonext", []int{1, 0, 1}, "no link from rank 0 to GPU 0 of node 1"},
		{"hierarchical", "allreduce", []int{0, 1, 1}, "no link from rank 0 to rank 3"},
		{"multi-level", "allgather", []int{2, 1, 1}, "no link from rank 2 to rank 5"},
		{"two-step", "alltoall", []int{1, 1}, "parameter nics has a choice of 2, for 3 GPUs of every node"},
	} {
		f, err := Find(Builtin(), c.family, c.coll)
		if err != nil {
			t.Fatal(err)
		}
		yes, why, err := f.Admits(m, script.Request{Collective: c.coll}, map[string]any{"nics": c.nics})
		if yes || err != nil || why != c.want {
			t.Errorf("%s %v: %v %q %v, want %q", c.family, c.nics, yes, why, err, c.want)
		}
		if yes, why, err := f.Admits(m, script.Request{Collective: c.coll}, map[string]any{"nics": []int{1, 1, 1}}); !yes || err != nil {
			t.Errorf("%s by GPU 1: %q %v", c.family, why, err)
		}
	}
}
