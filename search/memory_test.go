package search

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/program"
)

// What is refused for want of memory is refused with the figure, and what is not is the
// same as without a limit, however many things are done at the same time.
func TestMemoryOnlyRefuses(t *testing.T) {
	p, _ := problem{"fullmesh:24", 1, "allgather", []int64{1 << 20}}.resolve(t)
	all := Options{Executor: "sim", Families: []string{"all-pairs", "ring"}, Jobs: 2}
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
		refused := program.ByReason(some.Refusals)[string(program.NoMemory)]
		if len(some.Candidates) == 0 || refused == 0 || some.Enumerated() != whole.Enumerated() {
			t.Errorf("%d jobs: %d of %d candidates, %d refused for memory, %d enumerated of %d", jobs, len(some.Candidates), len(whole.Candidates), refused, some.Enumerated(), whole.Enumerated())
		}
		for _, c := range some.Candidates {
			if !known[c.Hash] {
				t.Errorf("%d jobs: %s is another program than without a limit", jobs, c.Algorithm)
			}
		}
		for _, r := range some.Refusals {
			if r.Reason == program.NoMemory && !(strings.Contains(r.Detail, "of memory for") && strings.Contains(r.Detail, "and it is 232M (--memory)")) {
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

// A built-in family that looks at more links than a template has time for is refused,
// and the others are tried.
func TestLargeSystemIsNoMistake(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for a system of 4,096 ranks")
	}
	p, _ := problem{"torus:16x16x16", 1, "allreduce", []int64{1 << 10, 1 << 20, 1 << 30}}.resolve(t)
	s, err := Enumerate(t.Context(), p, Options{Executor: "sim", Families: []string{"spanning-trees", "ring"}, Memory: 4 << 30})
	if err != nil {
		t.Fatal(err)
	}
	if n := program.ByReason(s.Refusals); n[string(program.TooLarge)] == 0 {
		t.Errorf("refused: %v", n)
	}
}
