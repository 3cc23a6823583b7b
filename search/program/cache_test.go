package program

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/topologies/topotest"
)

// keeping returns what makes builders of a collective on a system, each with a cache of one campaign
// as searches in processes of their own have it, and the folder of its entries.
func keeping(t *testing.T, system, coll string, o Options) (builder func() *Builder, entries string) {
	t.Helper()
	top, plan, dir := topotest.Resolve(t, system, 1), resultstest.Plan(), filepath.Join(t.TempDir(), "campaign")
	plan.Collective, plan.Topology.Ranks = coll, len(top.Ranks)
	c, err := results.Create(dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func() *Builder {
		o := o
		o.Cache = NewCache(c, coll, false)
		return builderOn(t, top, coll, o)
	}, filepath.Join(dir, "candidates")
}

// builds drafts what families and constructions come to, builds it, and lists it all.
func builds(t *testing.T, b *Builder, families []string, constructions []string) (all []string, made map[string]*Built) {
	t.Helper()
	var of Drafted
	for _, name := range families {
		some, err := b.Family(t.Context(), familyFor(t, name, b.target.Collective), Never, Never)
		if err != nil {
			t.Fatal(err)
		}
		of.Add(some)
	}
	for _, name := range constructions {
		some, err := b.Construct(t.Context(), name, []int64{4096, 1 << 24}, Never)
		if err != nil {
			t.Fatal(err)
		}
		of.Add(some)
	}
	made = map[string]*Built{}
	for _, d := range of.Drafts {
		v, err := b.Build(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		made[d.String()] = v
		if v.Refusal != nil {
			of.Refusals = append(of.Refusals, Refusal{d.String(), v.Refusal.Reason, v.Refusal.Detail})
		} else {
			all = append(all, d.String()+" "+v.Hash)
		}
	}
	for _, r := range of.Refusals {
		all = append(all, r.String())
	}
	return all, made
}

// What was built earlier is taken from the cache, a program after it has been verified again. What
// is not believed is made again.
func TestGoesOnWithCachedPrograms(t *testing.T) {
	o, families := Options{Families: []string{"ring"}, Simulated: true}, []string{"ring"}
	builder, entries := keeping(t, "ring:4", "allgather", o)
	b := on(t, "ring:4", 1, "allgather", o)
	fresh, made := builds(t, b, families, nil)
	first := builder()
	before, _ := builds(t, first, families, nil)
	again, _ := builds(t, builder(), families, nil)
	if diff := cmp.Diff(fresh, before) + cmp.Diff(before, again); diff != "" {
		t.Errorf("with a cache (-without +with, -first +second):\n%s", diff)
	}
	var names []string
	for _, line := range fresh[:4] {
		name, _, _ := strings.Cut(line, " ×")
		n, _, _ := strings.Cut(line[len(name)+1:], " ")
		names = append(names, name+" "+n)
	}
	// The cache says otherwise than a compiler would: it is what was asked.
	wrong := *made[names[1]].Program
	wrong.GPUs = slices.Clone(wrong.GPUs)
	wrong.GPUs[0].Threadblocks = nil
	_, others := builds(t, on(t, "ring:4", 1, "reducescatter", o), families, nil)
	other := others[names[2]].Program
	k := first.options.Cache
	key := func(i int) string { return first.entries.keyOf("draft", "builtin", names[i]) }
	for _, err := range []error{
		k.store.Cache(key(0), cachedBuild{Refusal: &Refusal{names[0], Slots, "as the cache says"}}, "", nil),
		k.store.Cache(key(1), cachedBuild{}, wrong.Hash(), &wrong),
		k.store.Cache(key(2), cachedBuild{}, other.Hash(), other),
		os.Truncate(filepath.Join(entries, key(3)+".json.gz"), 100),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b = builder()
	third, _ := builds(t, b, families, nil)
	if want := names[0] + ": fifo-slots: as the cache says"; !slices.Contains(third, want) {
		t.Errorf("%v: want %q", third, want)
	}
	for _, want := range before[1:4] {
		if !slices.Contains(third, want) {
			t.Errorf("%v: want %q, which the cache had wrong, of another collective, or torn", third, want)
		}
	}
	if said := b.options.Cache.Notices(); len(said) != 1 || !strings.Contains(said[0], "made again: candidates/"+key(3)) {
		t.Errorf("said %q, want that one is torn", said)
	}
	b = builder()
	fourth, _ := builds(t, b, families, nil)
	if said := b.options.Cache.Notices(); len(said) != 0 || !slices.Equal(third, fourth) {
		t.Errorf("then %v, and said %q: want what was made again", fourth, said)
	}
}

// A construction whose finds are known is not asked again, unless one of them is to be compiled
// again: then once.
func TestFoundAgain(t *testing.T) {
	names := []string{"tree-packing", "greedy"}
	builder, entries := keeping(t, "dgx-1", "allgather", Options{Simulated: true, Instances: 2})
	first, _ := builds(t, builder(), nil, names)
	asked := 0
	for i := range constructions {
		c := &constructions[i]
		before := c.make
		defer func() { c.make = before }()
		c.make = func(ctx context.Context, b *Builder, sizes []int64) ([]find, error) {
			asked++
			return before(ctx, b, sizes)
		}
	}
	b := builder()
	second, made := builds(t, b, nil, names)
	if diff := cmp.Diff(first, second); diff != "" || asked > 0 || len(made) < 3 {
		t.Errorf("%d programs, asked %d times (-first +second):\n%s", len(made), asked, diff)
	}
	for name := range made {
		if err := os.Remove(filepath.Join(entries, b.entries.keyOf("draft", "synthesised", name)+".json.gz")); err != nil {
			t.Fatal(err)
		}
	}
	third, _ := builds(t, builder(), nil, names)
	if diff := cmp.Diff(first, third); diff != "" || asked != len(names) {
		t.Errorf("asked %d times (-first +third):\n%s", asked, diff)
	}
}

// Parameters come back as they were: numbers and lists of them, which JSON does not tell
// apart.
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
	if diff := cmp.Diff(want, restoreNumbers(got)); diff != "" {
		t.Errorf("(-was +came back):\n%s", diff)
	}
}

// A find that a cut search left traced, but neither summed up nor built, is the same program once its
// costs are known: summing it up takes nothing from it.
func TestFindsSurviveTheirSummary(t *testing.T) {
	builder, _ := keeping(t, "dgx-1", "allgather", Options{Simulated: true, Instances: 1})
	for _, name := range []string{"tree-packing", "greedy"} {
		if _, err := builder().Construct(t.Context(), name, []int64{4096, 1 << 24}, Never); err != nil {
			t.Fatal(err)
		}
		b := builder()
		again, err := b.Construct(t.Context(), name, []int64{4096, 1 << 24}, Never)
		if err != nil || len(again.Drafts) == 0 {
			t.Fatal(err, len(again.Drafts))
		}
		if err := b.Summarize(t.Context(), again.Drafts, true); err != nil {
			t.Fatal(err)
		}
		for _, d := range again.Drafts {
			if v, err := b.Build(t.Context(), d); err != nil || v.Refusal != nil {
				t.Errorf("%s: %v, %v", d, v.Refusal, err)
			}
		}
	}
}

// A build is told from another: by its build ID where it has one, by its bytes where not.
func TestBuildOf(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	of := func(path string) string {
		t.Helper()
		build, err := buildOf(path)
		if err != nil {
			t.Fatal(err)
		}
		return build
	}
	builds := []string{of(self)}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for i, end := range []string{"", "."} {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, append(text[:1<<10:1<<10], end...), 0o600); err != nil { // no section of it is there
			t.Fatal(err)
		}
		builds = append(builds, of(path))
		if slices.Contains(builds[:i+1], builds[i+1]) {
			t.Errorf("builds %q: want three", builds)
		}
	}
}
