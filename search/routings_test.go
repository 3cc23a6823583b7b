package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// A routing is named alike from a draft and from a journal, without what is found for a topology.
func TestRouting(t *testing.T) {
	draft := map[string]any{"channels": 4, "order": [][]int{{0, 1}}, "shuffle": true, "open": nil}
	trial := map[string]any{"channels": 4.0, "order": []any{[]any{0.0, 1.0}}, "shuffle": true}
	want := "ring channels=4 shuffle=true"
	for _, p := range []map[string]any{draft, trial} {
		if got := Routing("ring", p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Routing("direct", nil); got != "direct" {
		t.Errorf("%q, want direct", got)
	}
	if got := NormalRouting("  ring shuffle=true  channels=4 "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func routingProblem(t *testing.T) Problem {
	t.Helper()
	top, err := topologies.Resolve("dgx-a100", topologies.Options{Nodes: 2, GPUs: []int{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	return Problem{Topology: top, Call: collective.Call{Collective: "allgather", Op: "sum", DType: "f32"}, Sizes: []int64{1024, 4096}}
}

// A search of routings has no other candidates, and all knobs of these.
func TestRoutingsAlone(t *testing.T) {
	p := routingProblem(t)
	whole, err := Enumerate(context.Background(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	routing := ""
	for _, c := range whole.Candidates {
		if name := unlimited(Routing(c.Algorithm, c.Parameters)); c.Algorithm == "all-pairs" && !c.Reference && c.Parameters[program.SMs] == nil && (routing == "" || name == routing) {
			routing = name
			want++
		}
	}
	space, err := Enumerate(context.Background(), p, Options{Routings: []string{routing + " sms=4"}}) // as a trial names one that was made for 4
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, c := range space.Candidates {
		if c.Reference {
			continue
		}
		if c.Parameters[program.SMs] == nil { // which limits are worth it depends on the others
			got++
		}
		if unlimited(Routing(c.Algorithm, c.Parameters)) != routing {
			t.Errorf("%s %v is none of %s", c.Algorithm, c.Parameters, routing)
		}
	}
	if got != want || want < 2 {
		t.Errorf("%d candidates of %s, want the %d of the whole search", got, routing, want)
	}
	if _, err := Enumerate(context.Background(), p, Options{Routings: []string{"rung channels=1"}, Capabilities: &Capabilities{}}); !errors.As(err, new(*UnknownFamily)) {
		t.Errorf("%v; want an unknown family", err)
	}
	if _, err := Enumerate(context.Background(), p, Options{Routings: []string{"all-pairs pieces=9999"}}); err == nil || !strings.Contains(err.Error(), routing[:len("all-pairs")]) {
		t.Errorf("%v; want the routings that there are", err)
	}
}

// Estimates have each candidate that fits, with every protocol, tile and size, in each placement.
func TestEstimatesOfAll(t *testing.T) {
	p := routingProblem(t)
	p.Both = true
	all, err := Estimates(context.Background(), p, Options{Families: []string{"ring", "all-pairs"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range all {
		seen[e.Placement]++
		sizes := map[int64]bool{}
		for _, x := range e.Times {
			if sizes[x.Bytes] = true; x.US <= 0 {
				t.Errorf("%s %v: %g us", e.Algorithm, e.Parameters, x.US)
			}
		}
		if len(sizes) != 2 {
			t.Errorf("%s %v: %d sizes, want 2", e.Algorithm, e.Parameters, len(sizes))
		}
	}
	if seen["in"] == 0 || seen["in"] != seen["out"] {
		t.Errorf("%v: want the same number in place and out of place", seen)
	}
	f, err := Foresee(context.Background(), p, Options{Families: []string{"ring", "all-pairs"}})
	if err != nil || f.Candidates != len(all) {
		t.Errorf("%d estimates, want the %d candidates of the forecast (%v)", len(all), f.Candidates, err)
	}
}

// A plan on other nodes is that of the same search there, without times of a number of ranks.
func TestPlanOn(t *testing.T) {
	p := routingProblem(t)
	source, _ := topologies.Source("dgx-a100")
	o := Options{Executor: "sim", Families: []string{"ring"}, Routings: []string{"ring channels=1"}, Baseline: &BaselineFile{"a.txt", "times"}}
	plan := PlanOf(p, o, Source{Text: string(source), Nodes: 2, GPUs: []int{0, 1}}, Settings{Version: "1", Iters: 20, Warmup: 5, Seed: 3, ExecutorName: "sim"})
	on, other, err := PlanOn(plan, 4)
	if err != nil {
		t.Fatal(err)
	}
	if len(on.Topology.Ranks) != 8 || other.Topology.Ranks != 8 || other.Topology.Nodes != 4 || other.Topology.Hash != on.Topology.Hash() {
		t.Errorf("%d ranks, %+v: want 8 on 4 nodes", len(on.Topology.Ranks), other.Topology)
	}
	if other.Seed != 3 || len(other.Files) != 0 || !slices.Equal(other.Flags, plan.Flags) {
		t.Errorf("seed %d, files %v, flags %v: want the plan's, without times", other.Seed, other.Files, other.Flags)
	}
	if _, o, err := FromPlan(other); err != nil || !slices.Equal(o.Routings, []string{"ring channels=1"}) {
		t.Errorf("%v, %v: want the plan to be read again", o.Routings, err)
	}
	plan.Collective = "allgatherv"
	plan.Files = []results.File{{Kind: "counts", Name: "counts", Text: "1\n2\n3\n4\n"}}
	if _, _, err := PlanOn(plan, 4); err == nil || !strings.Contains(err.Error(), "counts for each of 4 ranks") {
		t.Errorf("%v; want counts to be refused", err)
	}
}
