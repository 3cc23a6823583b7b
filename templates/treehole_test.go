package templates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/trees"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestSpanningTreesFilled compiles spanning-trees over trees that are found for
// systems of every sort, verifies them, holds them to the family's formula, and
// their routing to the links.
func TestSpanningTreesFilled(t *testing.T) {
	f, err := Find(Builtin(), "spanning-trees", "")
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	for _, s := range []system{{"dgx-1", nil, 1}, {"ring:5", nil, 1}, {"mesh:3x3", nil, 1}, {"hypercube:3", nil, 1}, {"dgx-a100", []int{0, 1, 2}, 2}, {"frontier", nil, 1}, {"lassen", nil, 2}} {
		top := s.of(t, s.nodes)
		m := machineOf(top)
		for _, coll := range f.Collectives {
			for _, q := range requests(coll, m) {
				for _, n := range []int{1, 2, 3} {
					o := trees.DisjointOptions{Count: n, Root: q.Root, Down: coll != "reduce", Up: coll != "broadcast"}
					found, err := trees.Disjoint(context.Background(), top, o)
					if none := (*trees.NoTreesError)(nil); errors.As(err, &none) && n > 1 {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					given := script.Params{"trees": n, "pieces": 2, "parents": found.Parents}
					if yes, why, err := f.Admits(m, q, given); !yes || err != nil {
						t.Fatalf("%v on %s: it does not apply: %s %v", given, s, why, err)
					}
					program, err := f.Trace(m, q, given)
					if err != nil {
						t.Fatal(err)
					}
					if refused := constraints.CheckRouting(program, top); len(refused) > 0 {
						t.Fatal(refused[0])
					}
					matrixEntry(t, f, m, q, given)
					compiled++
				}
			}
		}
	}
	if compiled < 100 {
		t.Errorf("%d programs: want most of the systems to have trees", compiled)
	}
}

// TestSpanningTreesRefuse: trees that are not the call's are refused, and why.
func TestSpanningTreesRefuse(t *testing.T) {
	f, err := Find(Builtin(), "spanning-trees", "")
	if err != nil {
		t.Fatal(err)
	}
	ring := ringMachine(4)
	for _, c := range []struct {
		m     script.Machine
		root  int
		given map[string]any
		want  string
	}{
		{script.Even(1, 1), 0, nil, "a tree needs 2 ranks"},
		{ring, 0, map[string]any{"trees": 2}, "2 trees are to be found for the links, and none are given"},
		{script.Even(1, 3), 0, nil, "every two ranks are linked, and no trees are given"},
		{ring, 0, map[string]any{"parents": []int{-1, 0, 1, 2}, "trees": 2}, "1 trees are given, trees is 2"},
		{ring, 1, map[string]any{"parents": []int{-1, 0, 1, 2}}, "a tree of root 0 is given, the root is 1"},
		{ring, 0, map[string]any{"parents": []int{-1, 0, 0, 2}}, "no link between ranks 0 and 2"},
		{ring, 0, map[string]any{"parents": []int{-1, 0, 1}}, "parameter parents has a tree of 3, for 4 GPUs of the machine"},
	} {
		yes, why, err := f.Admits(c.m, script.Request{Collective: "broadcast", Root: c.root}, c.given)
		if yes || err != nil || why != c.want {
			t.Errorf("%v: %v %q %v, want %q", c.given, yes, why, err, c.want)
		}
	}
}

// TestSpanningTreesTextbook: over the binomial tree a broadcast takes log p steps,
// over a chain p - 1, and an allreduce twice as many (Thakur et al. 2005).
func TestSpanningTreesTextbook(t *testing.T) {
	f, err := Find(Builtin(), "spanning-trees", "")
	if err != nil {
		t.Fatal(err)
	}
	const p = 16
	chain, binomial := make([]int, p), make([]int, p)
	for r := range p {
		chain[r], binomial[r] = r-1, r&(r-1)
	}
	binomial[0] = -1
	for _, c := range []struct {
		coll    string
		parents []int
		steps   int
	}{{"broadcast", binomial, 4}, {"reduce", binomial, 4}, {"allreduce", binomial, 8}, {"broadcast", chain, 15}, {"allreduce", chain, 30}} {
		cost, ok, err := f.Cost(script.Even(1, p), script.Request{Collective: c.coll}, map[string]any{"parents": c.parents})
		if err != nil || !ok {
			t.Fatal(err)
		}
		wire := int64(p - 1)
		if c.coll == "allreduce" {
			wire *= 2
		}
		if cost.Steps != c.steps || cost.Wire.Cmp(ratio(wire, 1)) != 0 {
			t.Errorf("%s: %d steps, %s on the wire; the book says %d and %d", c.coll, cost.Steps, cost.Wire.RatString(), c.steps, wire)
		}
	}
}

// TestUnfilledTreeIsShortest: of the links alone, every rank is as far from the
// root as it must be.
func TestUnfilledTreeIsShortest(t *testing.T) {
	f, err := Find(Builtin(), "spanning-trees", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topology string
		steps    []int // by root
	}{
		{"ring:8", []int{4, 4}}, {"mesh:3x3", []int{4, 3, 4, 3, 2}}, {"hypercube:3", []int{3}}, {"dgx-1", []int{2}},
	} {
		top := topotest.Resolve(t, c.topology, 0)
		var got []int
		for root := range c.steps {
			cost, _, err := f.Cost(machineOf(top), script.Request{Collective: "broadcast", Root: root}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, cost.Steps)
		}
		if !slices.Equal(got, c.steps) {
			t.Errorf("%s", fmt.Sprint(c.topology, ": steps by root ", got, ", want ", c.steps))
		}
	}
}

// TestTreesSpreadOverNICs: where every two GPUs of a node share a NIC, as many pairs of trees
// as NICs use each NIC of an inner node for two trees.
func TestTreesSpreadOverNICs(t *testing.T) {
	f, err := Find(Builtin(), "double-binary-tree", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, nics := range []int{1, 2, 4} {
		const gpus = 8
		m := script.Even(4, gpus)
		program, err := f.Trace(m, script.Request{Collective: "allreduce", InPlace: true}, script.Params{"trees": nics})
		if err != nil {
			t.Fatal(err)
		}
		ends := map[int32]map[int32]bool{} // by NIC: trees that cross it, by their chunk
		for i := range program.Ops {
			op := &program.Ops[i]
			if op.Src.Rank/gpus == op.Dst.Rank/gpus {
				continue
			}
			for _, r := range []int32{op.Src.Rank, op.Dst.Rank} {
				nic := r % gpus * int32(nics) / gpus
				if ends[nic] == nil {
					ends[nic] = map[int32]bool{}
				}
				ends[nic][op.Src.Index] = true
			}
		}
		for nic := range int32(nics) {
			if len(ends[nic]) != 2 {
				t.Errorf("%d pairs of trees: NIC %d of as many carries %d trees, want 2", nics, nic, len(ends[nic]))
			}
		}
	}
}
