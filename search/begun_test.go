package search

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// listed is what a space has, in its order.
func listed(s *Space) (all []string) {
	for _, c := range s.Candidates {
		all = append(all, candidateName(c.Algorithm, c.Parameters, c.Instances)+" "+c.Hash)
	}
	for _, r := range s.Refusals {
		all = append(all, r.String())
	}
	for _, b := range s.Baselines {
		all = append(all, b.Name+" "+b.hash)
	}
	return all
}

// An enumeration that is cut short again and again, at any stage of any placement, says
// each time what it has not looked at, has of the whole nothing but what that leaves out,
// and is the whole in the end.
func TestEnumerationInParts(t *testing.T) {
	p, _ := problem{"dgx-1", 1, "allreduce", []int64{1 << 10, 1 << 24}}.resolve(t)
	p.Both = true
	o := Options{Executor: "sim", Jobs: 3, Exclude: []string{"multi-level", "synthesised", "hierarchical"}}
	whole, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	want := listed(whole)
	for _, step := range []int64{23, 150} {
		b := newBegun()
		var parts int
		for {
			var asked atomic.Int64
			at := int64(parts) * step // of what is begun, old and new, this round's last
			b.late = func(s stage, placement, of int, _ float64) bool {
				if of != 2 || placement > 1 {
					t.Errorf("placement %d of %d", placement, of)
				}
				return asked.Add(1) > at
			}
			part, err := enumerateOr(context.Background(), p, o, nil, b)
			if err != nil {
				t.Fatal(err)
			}
			got := listed(part)
			if part.unlooked == "" {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("by %d: in parts (-whole +in parts):\n%s", step, diff)
				}
				break
			}
			for _, line := range got {
				// Of a part, another may be the first to have a program.
				if !slices.Contains(want, line) && !strings.Contains(line, string(Duplicate)) {
					if c, _, _ := strings.Cut(line, " ×"); !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(w, c) }) {
						t.Fatalf("by %d: %q is in a part and not in the whole", step, line)
					}
				}
			}
			if parts++; parts > 3000 {
				t.Fatalf("by %d: no end after %d parts; not looked at: %s", step, parts, part.unlooked)
			}
		}
		if parts == 0 {
			t.Errorf("by %d: all in one part", step)
		}
		if step == 23 && parts < 5 {
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
	b := newBegun()
	b.late = func(stage, int, int, float64) bool { return false }
	for range 2 {
		part, err := enumerateOr(context.Background(), p, o, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(listed(whole), listed(part)); diff != "" {
			t.Errorf("(-whole +in parts):\n%s", diff)
		}
	}
}

// What is compared with is built first, then what promises most.
func TestOrderOfBuilding(t *testing.T) {
	e := onDGX(t, 1, Options{})
	quick := &promise{loop: 8, calls: 1, connected: 1, connections: 2, channels: 1, chains: [2]chain{{messages: 2, chunks: 2}, {messages: 2, chunks: 2}}}
	slow := *quick
	slow.chains[0].messages, slow.chains[1].messages = 1<<30, 1<<30
	e.drafts = []*draft{
		{name: "slow", routing: &routing{promised: &slow}},
		{name: "quick", routing: &routing{promised: quick}},
		{name: "compared", routing: &routing{promised: &slow}, points: []baselinePoint{{}}},
	}
	if got := e.order(); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("order %v where there is time for all", got)
	}
	e.begun.late = func(stage, int, int, float64) bool { return false }
	if got := e.order(); !slices.Equal(got, []int{2, 1, 0}) {
		t.Errorf("order %v, want what is compared with, then the quick, then the slow", got)
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

// What an earlier search compiled is taken from the file, a program after it has been
// verified again, and whatever was not to its end is compiled.
func TestGoesOnWithWhatHasBegun(t *testing.T) {
	p, source := problem{"ring:4", 1, "allgather", []int64{1 << 20}}.resolve(t)
	o := Options{Executor: "sim", Families: []string{"ring"}}
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), PlanOf(p, o, source, Settings{Version: "test", Iters: 1, Seed: 1, ExecutorName: "sim"}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	enumerated := func() (*Space, *begun) {
		b := newBegun()
		b.from = time.Now().Add(-2 * keepAfter)
		var err error
		if b.file, err = c.Begin(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		defer b.close()
		s, err := enumerateOr(context.Background(), p, o, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		return s, b
	}
	first, b := enumerated()
	second, _ := enumerated()
	if diff := cmp.Diff(listed(first), listed(second)); diff != "" {
		t.Errorf("from the file (-first +second):\n%s", diff)
	}
	// The file says otherwise than a compiler would: it is what was asked.
	names := []string{}
	for _, c := range first.Candidates {
		names = append(names, candidateName(c.Algorithm, c.Parameters, c.Instances))
	}
	if len(names) < 3 {
		t.Fatalf("candidates %v: want three", names)
	}
	e := &enumeration{problem: &p, options: &o, begun: b}
	if b.file, err = c.Begin(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	wrong := *first.Candidates[1].Program
	wrong.GPUs = slices.Clone(wrong.GPUs)
	wrong.GPUs[0].Threadblocks = nil
	of, _ := problem{"ring:4", 1, "reducescatter", []int64{1 << 20}}.resolve(t)
	others, err := Enumerate(context.Background(), of, o)
	if err != nil {
		t.Fatal(err)
	}
	other := others.Candidates[0].Program
	for _, err := range []error{
		b.file.Keep(e.key("builtin", names[2]), keptBuilt{}, other.Hash(), other),
		b.file.Keep(e.key("builtin", names[0]), keptBuilt{&Refusal{names[0], Slots, "as the file says"}}, "", nil),
		b.file.Keep(e.key("builtin", names[1]), keptBuilt{}, wrong.Hash(), &wrong),
		b.file.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	third, _ := enumerated()
	got := listed(third)
	if want := names[0] + ": fifo-slots: as the file says"; !slices.Contains(got, want) {
		t.Errorf("%v: want %q", got, want)
	}
	if want := listed(first)[2]; !slices.Contains(got, want) {
		t.Errorf("%v: want %q, though the file has a program of another collective", got, want)
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, names[1]+": unverified: ") }) {
		t.Errorf("%v: want a wrong program of the file to be refused", got)
	}
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
			Executors: func() (executor.Executor, error) { return sim.New(), nil }, Jobs: 2, Budget: budget,
		})
		return err
	}
	table := func(c *results.Campaign) string {
		built, err := table.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		built.Campaign.Seconds, built.Campaign.Trials, built.Candidates = 0, 0, table.Candidates{}
		var text strings.Builder
		if err := built.Write(&text, "json"); err != nil {
			t.Fatal(err)
		}
		return text.String()
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
	if diff := cmp.Diff(table(whole), table(cut)); diff != "" {
		t.Errorf("cut short and gone on with (-whole +cut):\n%s", diff)
	}
}

// Searches with budgets that are too short to trace everything go on where the last one
// stopped, each in a process of its own, until all is traced, and come to what one
// without a budget comes to.
func TestTracingGoesOn(t *testing.T) {
	p, source := problem{"dgx-1", 1, "allreduce", []int64{1 << 10, 1 << 24}}.resolve(t)
	o := Options{Executor: "sim", Jobs: 2, Instances: 1, Exclude: []string{"synthesised", "tree-packing", "greedy"}}
	c, err := results.Create(filepath.Join(t.TempDir(), "campaign"), PlanOf(p, o, source, Settings{Version: "test", Iters: 1, Seed: 1, ExecutorName: "sim"}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	enumerated := func(most int64) *Space {
		b := newBegun()
		if b.file, err = c.Begin(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		defer b.close()
		var asked atomic.Int64
		b.late = func(s stage, _, _ int, _ float64) bool { return s == tracing && asked.Add(1) > most }
		space, err := enumerateOr(context.Background(), p, o, nil, b)
		if err != nil {
			t.Fatal(err)
		}
		return space
	}
	const most = 4 // families and programs
	var before string
	for searches := 1; ; searches++ {
		space := enumerated(most)
		if space.unlooked == "" {
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
		if space.unlooked == before {
			t.Fatalf("search %d came no further: not looked at: %s", searches, before)
		}
		before = space.unlooked
	}
}

// What is kept of a trace comes back as it was.
func TestPromisesAreKept(t *testing.T) {
	e := onDGX(t, 2, Options{})
	program, err := e.trace(family(t, "multi-level"), script.Params{"cross": "recursive", "local": "all-pairs", "groups": 1, "top": "recursive", "shuffle": true})
	if err != nil {
		t.Fatal(err)
	}
	want := promises(program, e.problem.Topology)
	text, err := json.Marshal(keptTrace{Operations: 3, Promise: want})
	if err != nil {
		t.Fatal(err)
	}
	var got keptTrace
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !got.whole() || *got.Promise != *want {
		t.Errorf("%s: %+v, want %+v", text, got.Promise, want)
	}
	fields := reflect.TypeFor[promise]().NumField() - 1 + len(chainChunks)*reflect.TypeFor[chain]().NumField()
	if n := len(want.numbers()); n != fields {
		t.Errorf("%d numbers are kept of %d", n, fields)
	}
	for _, text := range []string{`{"operations":3}`, `{"operations":-1,"promise":` + string(text) + `}`, `{"operations":3,"promise":[1,2]}`, `{}`} {
		var k keptTrace
		if err := json.Unmarshal([]byte(text), &k); err == nil && k.whole() {
			t.Errorf("%s is taken for a trace", text)
		}
	}
}

// fullDisk keeps nothing.
type fullDisk struct{ asked *int }

func (fullDisk) Known(string, any) (*ir.Program, string, bool) { return nil, "", false }
func (fullDisk) Close() error                                  { return nil }
func (f fullDisk) Keep(string, any, string, *ir.Program) error {
	*f.asked++
	return syscall.ENOSPC
}

// A file that can't be written any more ends no enumeration, and is asked no more.
func TestFileThatIsFull(t *testing.T) {
	p, _ := problem{"fullmesh:4", 1, "allreduce", []int64{1 << 20}}.resolve(t)
	o := Options{Executor: "sim", Instances: 1, Jobs: 1}
	whole, err := Enumerate(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	b := newBegun()
	b.file, b.late = fullDisk{&asked}, func(stage, int, int, float64) bool { return false }
	space, err := enumerateOr(context.Background(), p, o, nil, b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(listed(whole), listed(space)); diff != "" {
		t.Errorf("(-whole +with a full file):\n%s", diff)
	}
	if asked != 1 || !errors.Is(b.unkept, syscall.ENOSPC) {
		t.Errorf("asked %d times, then %v: want once, and why", asked, b.unkept)
	}
}
