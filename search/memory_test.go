package search

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/lang"
)

// What is refused for want of memory is refused with the figure, and what is not is the
// same as without a limit, however many things are done at the same time.
func TestMemoryOnlyRefuses(t *testing.T) {
	e := on(t, "fullmesh:24", 1, Options{})
	p := *e.problem
	p.Collective, p.InPlace = "allgather", false
	all := Options{Executor: "sim", Families: []string{"all-pairs", "ring"}, Jobs: 2}
	p.Sizes = p.Sizes[1:2]
	whole, err := Enumerate(t.Context(), p, all)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range whole.Candidates {
		known[c.Hash] = true
	}
	var before string
	for _, jobs := range []int{1, 4} {
		o := all
		o.Memory, o.Jobs = leastForTest, jobs
		var said []string
		o.Observer.Notice = func(s string) { said = append(said, s) }
		some, err := Enumerate(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		refused := ByReason(some.Refusals)[string(NoMemory)]
		if len(some.Candidates) == 0 || refused == 0 || some.Enumerated() != whole.Enumerated() {
			t.Errorf("%d jobs: %d of %d candidates, %d refused for memory, %d enumerated of %d", jobs, len(some.Candidates), len(whole.Candidates), refused, some.Enumerated(), whole.Enumerated())
		}
		for _, c := range some.Candidates {
			if !known[c.Hash] {
				t.Errorf("%d jobs: %s is another program than without a limit", jobs, c.Algorithm)
			}
		}
		for _, r := range some.Refusals {
			if r.Reason == NoMemory && !(strings.Contains(r.Detail, "of memory for") && strings.Contains(r.Detail, "and it is 232M (--memory)")) {
				t.Errorf("%s: want the figure and the limit", r)
			}
		}
		if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "refused for want of memory: the limit is 232M") }) {
			t.Errorf("%d jobs: notices %q", jobs, said)
		}
		if now := fmt.Sprint(some.Refusals); before == "" {
			before = now
		} else if now != before {
			t.Errorf("other refusals with %d jobs", jobs)
		}
	}
}

const leastForTest = 232 << 20

// Drafts are afforded in their order, those for comparison first, and never more than
// there is room for.
func TestAfford(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Memory: int64(rapid.IntRange(256, 4096).Draw(t, "MB")) << 20}
		e := &enumeration{options: &o, of: rapid.IntRange(1, 2).Draw(t, "placements")}
		var drafts []*draft
		for i := range rapid.IntRange(1, 20).Draw(t, "drafts") {
			n := rapid.IntRange(1, 1<<21).Draw(t, fmt.Sprint("operations of ", i))
			d := &draft{name: "ring", instances: 1, routing: &routing{size: n}}
			if rapid.Bool().Draw(t, "compared") {
				d.points = make([]baselinePoint, 1)
			}
			drafts = append(drafts, d)
		}
		all := e.refuseUnaffordable(drafts)
		room := o.programMemory() / int64(e.of)
		kept, largest := int64(0), int64(0)
		for i, d := range drafts {
			if all[i] == nil {
				kept, largest = kept+int64(d.operations())*keptBytes, max(largest, int64(d.operations())*compiledBytes)
			} else if all[i].refusal.Reason != NoMemory {
				t.Fatalf("refused: %v", all[i].refusal)
			}
		}
		if kept+largest > room || 2*kept > room {
			t.Fatalf("%d bytes for programs and %d for the largest: there are %d", kept, largest, room)
		}
		if e.buildLimit(drafts, all) < 1 {
			t.Fatal("nothing could be built")
		}
		at := max(slices.IndexFunc(drafts, func(d *draft) bool { return len(d.points) > 0 }), 0)
		first := drafts[at]
		if fits := int64(first.operations())*(compiledBytes+keptBytes) <= room; fits != (all[at] == nil) {
			t.Fatalf("the first, of %d operations, is refused: %v", first.operations(), all[at] != nil)
		}
	})
}

// What is foreseen grows with the operations, and says the limit that it would need.
func TestMostOperations(t *testing.T) {
	last := int64(0)
	for _, limit := range []int64{256 << 20, 1 << 30, 12 << 30, 1 << 40} {
		n := MostOperations(limit)
		if n <= last {
			t.Errorf("%d operations in %d bytes, %d in fewer", n, limit, last)
		}
		last = n
	}
	if n := MostOperations(0); n < lang.MaxOps {
		t.Errorf("%d operations without a limit", n)
	}
	if got, want := NoRoom(1<<24, 4<<30), "about 11G of memory for 16777216 operations: want a limit of 15G, and it is 4G (--memory)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A built-in family that looks at more links than a template has time for is refused,
// and the others are tried.
func TestLargeSystemIsNoMistake(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for a system of 4,096 ranks")
	}
	p := *on(t, "torus:16x16x16", 1, Options{}).problem
	s, err := Enumerate(t.Context(), p, Options{Executor: "sim", Families: []string{"spanning-trees", "ring"}, Memory: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if n := ByReason(s.Refusals); n[string(TooLarge)] == 0 {
		t.Errorf("refused: %v", n)
	}
}
