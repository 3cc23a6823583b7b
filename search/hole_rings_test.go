package search

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// interleaved is the box with two processors whose GPUs are numbered by turns.
func interleaved(t *testing.T) *topologies.Topology {
	t.Helper()
	text, _ := topologies.Source("l40s-8")
	turns := strings.NewReplacer("[0, 1, 2, 3]", "[0, 2, 4, 6]", "[4, 5, 6, 7]", "[1, 3, 5, 7]").Replace(string(text))
	topology, err := topologies.Read("interleaved.toml", []byte(turns), topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

// Where rank order is a ring, but its narrowest step is narrower than need be, the
// widest ring is a candidate too, and what the vendor's library would run.
func TestWiderRingsThanRankOrder(t *testing.T) {
	topology := interleaved(t)
	p := Problem{Topology: topology, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{1 << 26}}
	space, err := Enumerate(context.Background(), p, Options{Families: []string{"ring"}, Executor: "sim", Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	sequence, wider := 0, 0
	for _, c := range space.Candidates {
		order, _ := c.Parameters["order"].([][]int)
		switch {
		case c.Parameters["rings"] != 1:
		case order == nil:
			sequence++
		default:
			wider++
			if got := script.FormatValue(order); got != "0,1,3,5,7,2,4,6" {
				t.Errorf("order %s: want one that passes from half to half twice", got)
			}
		}
		if len(c.Baseline) > 0 && order == nil {
			t.Errorf("the baseline is %s in rank order", program.CandidateName(c.Algorithm, c.Parameters, c.Instances))
		}
	}
	if sequence == 0 || wider == 0 {
		t.Errorf("%d candidates in rank order, %d in another: want both", sequence, wider)
	}
}

// ringSpace is what family ring has for an allgather of 64 MiB.
func ringSpace(t *testing.T, topology *topologies.Topology) *Space {
	t.Helper()
	p := Problem{Topology: topology, Call: collective.Call{Collective: "allgather", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{1 << 26}}
	space, err := Enumerate(context.Background(), p, Options{Families: []string{"ring"}, Executor: "sim", Instances: 1})
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// Where GPUs are joined well in blocks and badly beyond, rings that leave a node after
// each block are candidates too; the vendor's library would not run them.
func TestRingsByBlocks(t *testing.T) {
	topology := topotest.Pairs(t, 2)
	space := ringSpace(t, topology)
	found := map[string]bool{}
	for _, c := range space.Candidates {
		order, _ := c.Parameters["order"].([][]int)
		if order == nil || rings.EntersOnce(topology, order[0]) {
			continue
		}
		found[script.FormatValue(order)] = true
		if len(c.Baseline) > 0 {
			t.Errorf("the baseline is %s", program.CandidateName(c.Algorithm, c.Parameters, c.Instances))
		}
	}
	for _, want := range []string{"0,2,4,6,1,3,5,7", "0,2,4,6,1,3,5,7;2,0,6,4,3,1,7,5"} {
		if !found[want] {
			t.Errorf("no candidate with rings %s among %v", want, found)
		}
	}
	if len(found) != 2 {
		t.Errorf("rings by blocks %v: want two sets", found)
	}
}

// Where GPUs of a node are joined two by two and no further, no ring passes through whole
// nodes. One that leaves a node after each pair is found all the same.
func TestRingsByBlocksAlone(t *testing.T) {
	topology := topotest.PairsAlone(t)
	space := ringSpace(t, topology)
	found := map[string]bool{}
	for _, c := range space.Candidates {
		order, _ := c.Parameters["order"].([][]int)
		found[script.FormatValue(order)] = true
	}
	if !found["0,1,4,5,2,3,6,7"] {
		t.Errorf("candidates with the rings %v: none leaves a node after each pair", found)
	}
	if !slices.ContainsFunc(space.Refusals, func(r program.Refusal) bool { return r.Reason == program.NoHole }) {
		t.Errorf("nothing says that there is no ring through whole nodes: %v", space.Refusals)
	}
}

// Rings that repeat fewer ones are candidates only where the fewer are not: a node of
// perlmutter has two different rings.
func TestRepeatedRings(t *testing.T) {
	topology := topotest.Resolve(t, "perlmutter", 2)
	p := Problem{Topology: topology, Call: collective.Call{Collective: "allgather", DType: "f32"}, InPlace: true, Sizes: []int64{1 << 26}}
	for _, c := range []struct {
		fixed map[string]string
		want  []int
	}{
		{nil, []int{1, 2}},
		{map[string]string{"rings": "2"}, []int{2}},
		{map[string]string{"rings": "4"}, []int{4}},
	} {
		space, err := Enumerate(context.Background(), p, Options{Families: []string{"multi-level"}, Parameters: c.fixed, Executor: "sim", Instances: 1})
		if err != nil {
			t.Fatal(err)
		}
		counts := map[int]bool{}
		for _, c := range space.Candidates {
			if c.Algorithm == "multi-level" { // not the library's
				counts[c.Parameters["rings"].(int)] = true
			}
		}
		if got := slices.Sorted(maps.Keys(counts)); !slices.Equal(got, c.want) {
			t.Errorf("%v: candidates of %v rings, want %v", c.fixed, got, c.want)
		}
	}
}
