package templates

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// stepsOf returns the number of messages a gather over n ranks takes one after
// the other, told apart from the families: a chunk that has d ranks to go takes
// a message for each binary digit of d by recursion and Bruck's way, d round a
// ring, one straight.
func stepsOf(way string, n int) (most int) {
	for d := range n {
		switch way {
		case "ring":
			most = max(most, d)
		case "all-pairs":
			most = max(most, min(d, 1))
		default:
			most = max(most, bits.OnesCount(uint(d)))
		}
	}
	return most
}

// TestEveryWayAtEveryLevel compiles two and three levels with each algorithm at
// each of them, for numbers of GPUs, nodes and groups that are powers of two and
// that are none, and holds the steps of what comes out to those of its levels, and
// its bytes to the least there can be.
func TestEveryWayAtEveryLevel(t *testing.T) {
	ways := []string{"recursive", "ring", "all-pairs", "bruck"}
	f, err := Find(Builtin(), "multi-level", "")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, shape := range []struct{ groups, nodes, gpus int }{{1, 3, 3}, {1, 4, 3}, {1, 3, 4}, {2, 3, 3}, {4, 3, 3}, {2, 2, 5}} {
		m := script.Even(shape.groups*shape.nodes, shape.gpus)
		for _, coll := range []string{"allgather", "reducescatter", "allreduce", "allgatherv"} {
			for _, local := range ways {
				for _, cross := range ways {
					for _, top := range ways {
						for _, shuffle := range []bool{true, false} {
							p := script.Params{"local": local, "cross": cross, "top": top, "groups": shape.groups, "shuffle": shuffle}
							q := script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}
							yes, _, err := f.Admits(m, q, p)
							if err != nil {
								t.Fatal(err)
							}
							if !yes {
								continue
							}
							name := fmt.Sprintf("%s on %v, %v", coll, shape, p)
							program, err := f.Trace(m, q, p)
							if err != nil {
								t.Fatalf("%s: %v", name, err)
							}
							compiled, err := compiler.Compile(program, compiler.Options{})
							if err != nil {
								t.Fatalf("%s: %v", name, err)
							}
							if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
								t.Errorf("%s: %v", name, err)
							}
							steps := stepsOf(local, shape.gpus) + stepsOf(cross, shape.nodes) + stepsOf(top, shape.groups)
							wire := int64(m.Ranks() - 1)
							if coll == "allreduce" {
								steps, wire = 2*steps, 2*wire
							}
							got := measure(t, compiled.Program)
							if got.steps != steps || got.wire.Num().Int64() != wire || !got.wire.IsInt() {
								t.Errorf("%s: %d steps, %s on the wire; want %d, %d", name, got.steps, got.wire.RatString(), steps, wire)
							}
							for level, way := range map[string]string{"within nodes": local, "between nodes": cross, "between groups": top} {
								if level != "between groups" || shape.groups > 1 {
									seen[way+" "+level] = true
								}
							}
						}
					}
				}
			}
		}
	}
	// Groups are powers of two, over which Bruck's way is recursion.
	for _, level := range []string{"within nodes", "between nodes", "between groups"} {
		for _, way := range ways {
			if !seen[way+" "+level] && way+" "+level != "bruck between groups" {
				t.Errorf("%s %s was never tried", way, level)
			}
		}
	}
}

// TestGroupsAreBalanced lists the numbers of groups with which a third level is tried: about as
// many groups as nodes in each, and not where both levels would be one recursion.
func TestGroupsAreBalanced(t *testing.T) {
	f, err := Find(Builtin(), "multi-level", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		nodes int
		want  []int
	}{{2, []int{1}}, {4, []int{1}}, {6, []int{1, 2}}, {8, []int{1, 2, 4}}, {12, []int{1, 4}}, {16, []int{1, 4}}, {48, []int{1, 8}}, {64, []int{1, 8}}, {256, []int{1, 16}}, {512, []int{1, 16}}} {
		grid, err := f.Grid(script.Even(c.nodes, 2), "allgather", nil)
		if err != nil {
			t.Fatal(err)
		}
		var groups []int
		for _, p := range grid {
			n := p["groups"].(int)
			if !slices.Contains(groups, n) {
				groups = append(groups, n)
			}
			if n > 1 && p["cross"] == "recursive" && p["top"] == "recursive" {
				t.Errorf("%d nodes: %v is one recursion over all nodes", c.nodes, p)
			}
		}
		slices.Sort(groups)
		if !slices.Equal(groups, c.want) {
			t.Errorf("%d nodes: %v groups, want %v", c.nodes, groups, c.want)
		}
	}
}
