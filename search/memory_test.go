package search

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// TestGoesOnWithKeptCandidates: a search that was cut short takes its candidates
// from the campaign, they are what it would make again, bounds and refusals
// included, and the table is that of one never cut short. What is damaged is
// made again, and told.
func TestGoesOnWithKeptCandidates(t *testing.T) {
	pr := problem{"dgx-1", 1, "allgather", []int64{4096, 1 << 24}}
	base := Options{Executor: "sim", Families: []string{"tree-packing", "greedy"}, Instances: 2}
	p, source := pr.resolve(t)
	p.Both = true
	plan := PlanOf(p, base, source, Settings{Version: "test", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	create := func() *results.Campaign {
		c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var notices []string
	run := func(c *results.Campaign, trials int) {
		t.Helper()
		o := base
		o.Notice = func(s string) { notices = append(notices, s) }
		_, err := Run(context.Background(), p, o, c, Effort{
			Executors: func() (executor.Executor, error) { return sim.New(), nil }, Jobs: 2, Trials: trials,
		})
		if err != nil && !(trials > 0 && errors.Is(err, autotune.ErrLimit)) {
			t.Fatal(err)
		}
	}
	table := func(c *results.Campaign) string {
		built, err := table.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		built.Campaign.Seconds = 0
		var text strings.Builder
		if err := built.Write(&text, "json"); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	whole, cut := create(), create()
	run(whole, 0)
	run(cut, 5)

	o := base
	key, err := memoryKey(plan, &o, p.Collective)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	kept := recall(t.Context(), cut, key, &p, &o)
	if kept == nil {
		t.Fatal("nothing was kept")
	}
	known, err := enumerateOr(context.Background(), p, o, kept, newBegun())
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Options{
		cmpopts.IgnoreFields(autotune.Candidate{}, "Bound", "Parameters"), cmpopts.EquateEmpty(),
		cmp.AllowUnexported(Space{}, Baseline{}), cmpopts.IgnoreFields(Space{}, "parts"),
	}
	if diff := cmp.Diff(fresh, known, same); diff != "" {
		t.Errorf("(-made again +kept):\n%s", diff)
	}
	for i, c := range known.Candidates {
		was := fresh.Candidates[i]
		if got, want := candidateName("", c.Parameters, 0), candidateName("", was.Parameters, 0); got != want {
			t.Errorf("parameters %s: want %s", got, want)
		}
		tile := int64(p.Topology.Protocols[0].Tile)
		if c.Bound(1<<20, 0, tile) != was.Bound(1<<20, 0, tile) {
			t.Errorf("%s: another bound", c.Algorithm)
		}
	}

	run(cut, 5)
	path := filepath.Join(cut.Dir(), "candidates.tar.gz")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	notices = nil
	run(cut, 0)
	if len(notices) == 0 || !strings.Contains(notices[0], "made again") {
		t.Errorf("a torn file: told %q", notices)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
		t.Errorf("a torn file was not made again: %v", err)
	}
	if diff := cmp.Diff(table(whole), table(cut)); diff != "" {
		t.Errorf("(-never cut short +resumed):\n%s", diff)
	}
}

// TestParametersComeBackAsTheyWere: numbers and lists of them, which JSON does not
// tell apart.
func TestParametersComeBackAsTheyWere(t *testing.T) {
	want := map[string]any{
		"rings": 2, "order": [][]int{{0, 1, 2}, {2, 1, 0}}, "nics": []int{0, 3}, "share": 0.5, "fused": false, "for": "4K", "none": []any{}, "mixed": []any{1, "a"},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, whole(got)); diff != "" {
		t.Errorf("(-was +came back):\n%s", diff)
	}
}

// TestKeptProgramsAreVerified: a file whose programs are who their hashes say is
// still not one of right programs.
func TestKeptProgramsAreVerified(t *testing.T) {
	pr := problem{"ring:4", 1, "allgather", []int64{4096}}
	o := Options{Executor: "sim", Families: []string{"ring"}, Instances: 1, Channels: 1}
	p, source := pr.resolve(t)
	plan := PlanOf(p, o, source, Settings{Version: "test", Iters: 20, Warmup: 5, Seed: 1, ExecutorName: "sim"})
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	space, err := Enumerate(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	o.Notice = func(s string) { told = append(told, s) }
	if err := space.keep(c, "key"); err != nil {
		t.Fatal(err)
	}
	if recall(t.Context(), c, "key", &p, &o) == nil {
		t.Fatalf("right programs are not taken: %q", told)
	}
	// A receive puts its chunk where another belongs.
	wrong := space.Candidates[0].Program
	steps := wrong.GPUs[1].Threadblocks[0].Steps
	at := slices.IndexFunc(steps, func(s ir.Step) bool { return s.Op.Receives() && s.Op.WritesDst() })
	steps[at].Dst.Off = (steps[at].Dst.Off + 1) % 4
	for i := range space.parts[0].Candidates {
		if space.parts[0].Candidates[i].Program == space.Candidates[0].Hash {
			space.parts[0].Candidates[i].Program = wrong.Hash()
		}
	}
	space.Candidates[0].Hash = wrong.Hash()
	if err := space.keep(c, "key"); err != nil {
		t.Fatal(err)
	}
	if recall(t.Context(), c, "key", &p, &o) != nil || len(told) != 1 || !strings.Contains(told[0], "made again: program") {
		t.Errorf("a wrong program is taken; told %q", told)
	}
}
