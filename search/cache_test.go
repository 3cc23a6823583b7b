package search

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
)

// enumerateIn is Enumerate with a cache or a deadline.
func enumerateIn(ctx context.Context, p Problem, o Options, cache *program.Cache, expired deadline) (*Space, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return enumerateOnce(ctx, r, cache, expired)
}

// neverLate is a deadline with time for all.
func neverLate(stage, int, int, float64) bool { return false }

// listed is what a space has, in its order.
func listed(s *Space) (all []string) {
	for _, c := range s.Candidates {
		all = append(all, program.CandidateName(c.Algorithm, c.Parameters, c.Instances)+" "+c.Hash)
	}
	for _, r := range s.Refusals {
		all = append(all, r.String())
	}
	for _, b := range s.baselines {
		all = append(all, b.Name+" "+b.hash)
	}
	return all
}

// An enumeration that is cut short again and again, at any stage of any placement, says
// each time what it has not looked at, has of the whole nothing but what that leaves out,
// and is the whole in the end.
func TestEnumerationInParts(t *testing.T) {
	p, _ := problem{"dgx-1", 1, "allgather", []int64{1 << 10, 1 << 24}}.resolve(t)
	p.Both = true
	o := Options{Executor: "sim", Jobs: 3, Exclude: []string{"multi-level", "synthesised", "hierarchical"}}
	whole, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	want := listed(whole)
	for _, step := range []int64{47, 150} {
		cache := inMemory()
		var parts int
		for {
			var asked atomic.Int64
			at := int64(parts) * step // of what is begun, old and new, this round's last
			expired := func(s stage, placement, of int, _ float64) bool {
				if of != 2 || placement > 1 {
					t.Errorf("placement %d of %d", placement, of)
				}
				return asked.Add(1) > at
			}
			part, err := enumerateIn(context.Background(), p, o, cache, expired)
			if err != nil {
				t.Fatal(err)
			}
			got := listed(part)
			if part.unexploredText() == "" {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("by %d: in parts (-whole +in parts):\n%s", step, diff)
				}
				break
			}
			for _, line := range got {
				// Of a part, another may be the first to have a program.
				if !slices.Contains(want, line) && !strings.Contains(line, string(program.Duplicate)) {
					if c, _, _ := strings.Cut(line, " ×"); !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, c) }) {
						t.Fatalf("by %d: %q is in a part and not in the whole", step, line)
					}
				}
			}
			if parts++; parts > 3000 {
				t.Fatalf("by %d: no end after %d parts; not looked at: %s", step, parts, part.unexploredText())
			}
		}
		if parts == 0 {
			t.Errorf("by %d: all in one part", step)
		}
		if step == 47 && parts < 5 {
			t.Errorf("%d parts, want several", parts)
		}
	}
}

// A user's family that is called like a built-in one is another family, where what has
// been made of either is found again.
func TestFamiliesOfOneNameInParts(t *testing.T) {
	p, _ := problem{"fullmesh:4", 1, "allreduce", []int64{1 << 20}}.resolve(t)
	o := Options{Executor: "sim", Instances: 1, Exclude: []string{"ring", "all-pairs"}, Templates: []Template{{"mine.star", `
family(name = "recursive-doubling", collectives = ["allreduce"])

def chunks(topo, p):
    return topo.ranks

def program(topo, p):
    R = topo.ranks
    for i in range(R):
        for k in range(1, R):
            chunk(i, "in", i).reduce(chunk((i + k) % R, "in", i))
        for k in range(1, R):
            chunk(i, "in", i).copy((i + k) % R, "in", i)
`}}}
	whole, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	cache := inMemory()
	for range 2 {
		part, err := enumerateIn(context.Background(), p, o, cache, neverLate)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listed(whole), listed(part)); diff != "" {
			t.Errorf("(-whole +in parts):\n%s", diff)
		}
	}
}

// Half of what is left goes to the stages of the placements, one after the other.
func TestHalfOf(t *testing.T) {
	for _, c := range []struct {
		gone          time.Duration
		s             stage
		placement, of int
		through       float64
		want          bool
	}{
		{12 * time.Minute, tracing, 0, 1, 0.5, false},
		{13 * time.Minute, tracing, 0, 1, 0.5, true},
		{24 * time.Minute, tracing, 0, 1, 1, false},
		{26 * time.Minute, tracing, 0, 1, 1, true},
		{26 * time.Minute, building, 0, 1, 1, false},
		{51 * time.Minute, building, 0, 1, 1, true},
		{26 * time.Minute, building, 0, 2, 1, true},
		{26 * time.Minute, tracing, 1, 2, 1, false},
		{38 * time.Minute, tracing, 1, 2, 1, true},
		{38 * time.Minute, building, 1, 2, 1, false},
		{51 * time.Minute, building, 1, 2, 1, true},
	} {
		if got := halfOf(100*time.Minute, time.Now().Add(-c.gone))(c.s, c.placement, c.of, c.through); got != c.want {
			t.Errorf("%+v: late %v", c, got)
		}
	}
}

// aCampaign is a new campaign of a problem, and what makes caches of it, as searches in
// processes of their own have them.
func aCampaign(t *testing.T, p Problem, source Source, o Options) (*results.Campaign, func() *program.Cache) {
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), PlanOf(p, o, source, Settings{Version: "test", Iters: 1, Seed: 1, ExecutorName: "sim"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, func() *program.Cache { return newCache(c, &o, &p, false) }
}

// A search that was cut short takes its candidates from the campaign: they are what it
// would make again, bounds and refusals included, and the table is that of one never cut
// short.
func TestGoesOnToTheSameTable(t *testing.T) {
	p, source := problem{"dgx-1", 1, "allgather", []int64{4096, 1 << 24}}.resolve(t)
	p.Both = true
	o := Options{Executor: "sim", Families: []string{"tree-packing", "greedy"}, Instances: 2}
	whole, _ := aCampaign(t, p, source, o)
	cut, newCache := aCampaign(t, p, source, o)
	run := func(c *results.Campaign, trials int) {
		t.Helper()
		_, err := Run(context.Background(), p, o, c, Effort{
			Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2, Trials: trials,
		})
		if err != nil && !(trials > 0 && errors.Is(err, autotune.ErrLimit)) {
			t.Fatal(err)
		}
	}
	run(whole, 0)
	run(cut, 5)
	fresh, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	known, err := enumerateIn(context.Background(), p, o, newCache(), nil)
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Options{
		cmpopts.IgnoreFields(autotune.Candidate{}, "Bound", "Parameters"), cmpopts.EquateEmpty(),
		cmp.AllowUnexported(Space{}, baseline{}), cmpopts.IgnoreUnexported(library.Time{}), cmpopts.IgnoreFields(library.Time{}, "Draft"),
	}
	if diff := cmp.Diff(fresh, known, same); diff != "" {
		t.Errorf("(-made again +cached):\n%s", diff)
	}
	for i, c := range known.Candidates {
		was := fresh.Candidates[i]
		if got, want := program.CandidateName("", c.Parameters, 0), program.CandidateName("", was.Parameters, 0); got != want {
			t.Errorf("parameters %s: want %s", got, want)
		}
		tile := int64(p.Topology.Protocols[0].Tile)
		if c.Bound(1<<20, 0, tile) != was.Bound(1<<20, 0, tile) {
			t.Errorf("%s: another bound", c.Algorithm)
		}
	}
	run(cut, 0)
	if diff := cmp.Diff(tableOf(t, whole), tableOf(t, cut)); diff != "" {
		t.Errorf("(-never cut short +resumed):\n%s", diff)
	}
}

// tableOf is a campaign's table without what differs between equal searches.
func tableOf(t *testing.T, c *results.Campaign) string {
	t.Helper()
	built, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	built.Campaign.Seconds, built.Campaign.Trials, built.Candidates = 0, 0, table.Candidates{}
	var text strings.Builder
	if err := built.Write(&text, "json", table.Look{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A search whose budget ends anywhere, enumerating or tuning, is either done or at its
// limit, and once it has gone on to its end its table is that of one never cut short.
func TestBudgetsInAllPlaces(t *testing.T) {
	p, source := problem{"dgx-1", 1, "allgather", []int64{1 << 12, 1 << 24}}.resolve(t)
	o := Options{Executor: "sim", Exclude: []string{"synthesised", "multi-level"}}
	plan := PlanOf(p, o, source, Settings{Version: "test", Iters: 1, Seed: 1, ExecutorName: "sim"})
	create := func() *results.Campaign {
		c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), plan)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	run := func(c *results.Campaign, budget time.Duration) error {
		_, err := Run(context.Background(), p, o, c, Effort{
			Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2, Budget: budget,
		})
		return err
	}
	whole, cut := create(), create()
	if err := run(whole, 0); err != nil {
		t.Fatal(err)
	}
	for budget := time.Nanosecond; budget < 8*time.Second; budget = budget*3 + time.Millisecond {
		err := run(cut, budget)
		var limit *autotune.LimitError
		switch {
		case err == nil && !cut.Finished():
			t.Errorf("budget %v: no error, and the campaign is not finished", budget)
		case err != nil && (!errors.As(err, &limit) || limit.Value != budget.String() || cut.Finished()):
			t.Errorf("budget %v: %v, finished: %v", budget, err, cut.Finished())
		}
	}
	if err := run(cut, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tableOf(t, whole), tableOf(t, cut)); diff != "" {
		t.Errorf("cut short and gone on with (-whole +cut):\n%s", diff)
	}
}

// Searches with budgets that are too short to trace everything go on where the last one
// stopped, each in a process of its own, until all is traced, and come to what one
// without a budget comes to.
func TestTracingGoesOn(t *testing.T) {
	p, source := problem{"dgx-1", 1, "allreduce", []int64{1 << 10, 1 << 24}}.resolve(t)
	o := Options{Executor: "sim", Jobs: 2, Instances: 1, Exclude: []string{"synthesised", "tree-packing", "greedy"}}
	_, newCache := aCampaign(t, p, source, o)
	enumerated := func(most int64) *Space {
		var asked atomic.Int64
		late := func(s stage, _, _ int, _ float64) bool { return s == tracing && asked.Add(1) > most }
		space, err := enumerateIn(context.Background(), p, o, newCache(), late)
		if err != nil {
			t.Fatal(err)
		}
		return space
	}
	const most = 4 // families and programs
	var before string
	for searches := 1; ; searches++ {
		space := enumerated(most)
		if space.unexploredText() == "" {
			if searches < 5 {
				t.Errorf("%d searches came to the end, want several", searches)
			}
			whole, err := Enumerate(context.Background(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(listed(whole), listed(space)); diff != "" {
				t.Errorf("(-whole +in parts):\n%s", diff)
			}
			return
		}
		if space.unexploredText() == before {
			t.Fatalf("search %d came no further: not looked at: %s", searches, before)
		}
		before = space.unexploredText()
	}
}

// The library's ring has a threadblock a channel, and a candidate of the same name one for each
// direction where nothing is forwarded: neither is taken for the other.
func TestLibraryRingIsCachedApart(t *testing.T) {
	p, source := problem{"fullmesh:2", 1, "allgather", []int64{1 << 10}}.resolve(t)
	for _, jobs := range []int{1, 2} {
		o := Options{Executor: "sim", Jobs: jobs, Instances: 1, Families: []string{"all-pairs", "ring"}}
		whole, err := Enumerate(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		_, newCache := aCampaign(t, p, source, o)
		for range 3 {
			kept, err := enumerateIn(context.Background(), p, o, newCache(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(listed(whole), listed(kept)); diff != "" {
				t.Errorf("%d jobs (-without a cache +with one):\n%s", jobs, diff)
			}
		}
	}
}

// inMemory is a cache of one run without a campaign.
func inMemory() *program.Cache { return program.NewCache(nil, "", true) }

// fullDisk keeps nothing.
type fullDisk struct{ asked *int }

func (fullDisk) Cached(string, any) (*ir.Program, error) { return nil, fs.ErrNotExist }
func (fullDisk) Enumerated(map[string]bool) error        { return nil }
func (f fullDisk) Cache(string, any, string, *ir.Program) error {
	*f.asked++
	return syscall.ENOSPC
}

// A disk that is full ends no enumeration, and is written to no more.
func TestFullDisk(t *testing.T) {
	p, _ := problem{"fullmesh:4", 1, "allreduce", []int64{1 << 20}}.resolve(t)
	o := Options{Executor: "sim", Instances: 1, Jobs: 1}
	whole, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	k := program.NewCache(fullDisk{&asked}, "", true)
	space, err := enumerateIn(context.Background(), p, o, k, neverLate)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(whole), listed(space)); diff != "" {
		t.Errorf("(-whole +with a full disk):\n%s", diff)
	}
	if said := k.Notices(); asked != 1 || len(said) != 1 || !strings.Contains(said[0], syscall.ENOSPC.Error()) {
		t.Errorf("asked %d times, said %q: want once, and why", asked, said)
	}
}
