package search

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies/topotest"
)

// onDGX is an enumeration of an allreduce on a number of DGX A100.
func onDGX(t testing.TB, nodes int, o Options) *enumeration {
	t.Helper()
	return on(t, "dgx-a100", nodes, o)
}

// on is the same on a number of nodes of a system.
func on(t testing.TB, system string, nodes int, o Options) *enumeration {
	t.Helper()
	topology := topotest.Resolve(t, system, nodes)
	p := &Problem{Topology: topology, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{1 << 10, 1 << 20, 1 << 30}}
	return &enumeration{problem: p, options: &o, machine: machineOf(topology)}
}

func family(t testing.TB, name string) *templates.Family { return familyFor(t, name, "allreduce") }

func familyFor(t testing.TB, name, collective string) *templates.Family {
	t.Helper()
	f, err := templates.Find(templates.Builtin(), name, collective)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The best of every size is taken first; of one routing no more than two numbers of
// instances a size; what there is no room for leaves it to smaller ones.
func TestChoose(t *testing.T) {
	a, b, c := &routing{size: 10}, &routing{size: 40}, &routing{size: 5}
	drafts := []*draft{{routing: a, instances: 1}, {routing: a, instances: 2}, {routing: a, instances: 4}, {routing: b, instances: 1}, {routing: c, instances: 1}}
	for _, row := range []struct {
		name  string
		times [][]float64
		room  int
		want  []int // in the order in which they are taken
	}{
		{"all", [][]float64{{3, 2, 4, 5, 6}, {1, 2, 3, 4, 5}}, 200, []int{1, 0, 3, 4}},
		{"each size its best", [][]float64{{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}}, 15, []int{0, 4}},
		{"the third where another size wants it", [][]float64{{1, 2, 3, 8, 9}, {3, 2, 1, 8, 9}}, 70, []int{0, 2, 1}},
		{"the large one has no room", [][]float64{{2, 3, 4, 1, 5}}, 35, []int{0, 1, 4}},
		{"of near equals the smallest", [][]float64{{1, 1, 1.001, 1.001, 1.002}}, 30, []int{4, 0}},
		{"nothing fits", [][]float64{{1, 2, 3, 4, 5}}, 4, nil},
	} {
		if got := choose(drafts, row.times, row.room); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// Those taken by what their messages alone let one expect, until they are known, are those
// taken where all are known, in the same order.
func TestPromisingIsTheWholeChoice(t *testing.T) {
	enumerated := func() (*enumeration, []*draft) {
		e := onDGX(t, 4, Options{Solver: "pb"})
		e.problem.Sizes = []int64{64 << 20, 1 << 30} // at smaller ones messages tell little
		var drafts []*draft
		for _, name := range []string{"ring", "multi-level", "hierarchical", "double-binary-tree", "recursive-halving-doubling"} {
			all, err := e.family(t.Context(), family(t, name), func() bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			drafts = append(drafts, all.drafts...)
		}
		return e, drafts
	}
	e, known := enumerated()
	if err := e.summarizeAll(t.Context(), known, true); err != nil {
		t.Fatal(err)
	}
	for _, part := range []int{4, 16} {
		e, drafts := enumerated()
		if err := e.summarizeAll(t.Context(), drafts, false); err != nil {
			t.Fatal(err)
		}
		room := operationsOf(drafts) / part
		want, _, err := e.promising(t.Context(), known, room)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := e.promising(t.Context(), drafts, room)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("1/%d of the operations: %v, took %v, want %v", part, err, got, want)
		}
		unknown := 0
		for _, d := range drafts {
			if !d.routing.cost.whole {
				unknown++
			}
		}
		t.Logf("1/%d of the operations: took %d of %d, of which %d were not summed up whole", part, len(got), len(drafts), unknown)
		if len(got) == 0 || part > 4 && unknown == 0 {
			t.Errorf("1/%d of the operations: took %d of %d, and all were summed up whole", part, len(got), len(drafts))
		}
	}
}

// What all drafts come to decides whether they are chosen from; what is left out is
// refused by name, and so is what surely has no room on a GPU.
func TestShortlist(t *testing.T) {
	quick := &costSummary{whole: true, loop: 8, calls: 1, connected: 1, connections: 2, channels: 1, criticalPaths: [2]criticalPath{{messages: 2, chunks: 2}, {messages: 2, chunks: 2}}}
	slow, slower, wide, many := *quick, *quick, *quick, *quick
	slow.criticalPaths[0].messages, slow.criticalPaths[1].messages = 900, 900
	slower.criticalPaths[0].messages, slower.criticalPaths[1].messages = 9000, 9000
	wide.connections, many.channels = 40, 20
	drafts := func(size int) []*draft {
		return []*draft{
			{name: "quick", instances: 1, routing: &routing{size: size, cost: quick}},
			{name: "slow", instances: 1, routing: &routing{size: size, cost: &slow}},
			{name: "slower", instances: 1, routing: &routing{size: size, cost: &slower}},
			{name: "wide", instances: 4, routing: &routing{size: size, cost: &wide}},
			{name: "many", instances: 4, routing: &routing{size: size, cost: &many}},
		}
	}
	for _, c := range []struct {
		size    int
		o       Options
		left    string
		refused map[Reason]string
	}{
		{maxSearched / 11, Options{}, "quick slow slower wide many", nil}, // all of them
		{maxSearched / 3, Options{}, "quick slow slower wide many", nil},  // those that fit
		{maxSearched/3 + 1, Options{}, "quick", map[Reason]string{
			Outranked:    "slow",
			Threadblocks: "wide ×4: threadblocks: at least 160 threadblocks on a GPU of 108 SMs: 40 for each of 4 instances",
			Uncompiled:   "many ×4: compiler-limit: at least 20 channels in each of 4 instances: the limit is ",
		}},
		{maxChosen, Options{}, "quick", map[Reason]string{
			Outranked:    "slow",
			Threadblocks: "wide",
			Uncompiled:   "many",
		}},
		{maxSearched/3 + 1, Options{Families: []string{"quick"}}, "quick slow slower wide many", nil},
	} {
		e := onDGX(t, 1, c.o)
		short, err := e.shortlist(context.Background(), drafts(c.size), maxSearched, maxChosen)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, d := range short.drafts {
			left = append(left, d.name)
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%d operations each: left %s, want %s", c.size, got, c.left)
		}
		if n := len(c.refused); n > 0 && len(short.refusals) != n+1 || n == 0 && len(short.refusals) > 0 {
			t.Errorf("%d operations each: %d refused: %v", c.size, len(short.refusals), short.refusals)
		}
		for _, r := range short.refusals {
			if want := c.refused[r.Reason]; want == "" || !strings.HasPrefix(r.String(), want) {
				t.Errorf("refused %s, want %q", r, want)
			}
			if name, _, _ := strings.Cut(r.Candidate, " "); r.Reason == Outranked && (!strings.HasPrefix(r.Detail, "estimated at ") || !strings.HasSuffix(r.Detail, "--family "+name+" takes it")) {
				t.Errorf("%s: want it to say how it is had anyway", r)
			}
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	e := onDGX(t, 1, Options{})
	if _, err := e.shortlist(cancelled, drafts(maxSearched), maxSearched, maxChosen); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want it to end when the search does", err)
	}
}

// A large program is let go of, and is the same when it is traced again.
func TestLargeProgramIsTracedAgain(t *testing.T) {
	e := onDGX(t, 24, Options{})
	params := script.Params{"rings": 2, "channels": 1}
	r, err := e.route(family(t, "ring"), params)
	if err != nil {
		t.Fatal(err)
	}
	const ranks = 24 * 8
	if want := 2 * ranks * (ranks - 1) * 2; r.program != nil || r.operations() != want || r.cost == nil {
		t.Fatalf("program held: %v; %d operations, want %d", r.program != nil, r.operations(), want)
	}
	first, err := r.traced()
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.traced()
	if err != nil || !slices.Equal(first.Ops, second.Ops) || len(first.Ops) != r.operations() {
		t.Errorf("%v: %d operations, and %d the next time", err, len(first.Ops), len(second.Ops))
	}
	small, err := e.route(family(t, "ring"), script.Params{"rings": 1, "channels": 1})
	if err != nil || small.program == nil || small.operations() != len(small.program.Ops) {
		t.Errorf("%v: a ring of %d operations is let go of", err, small.operations())
	}
}

// Who wrote the program does not matter where it is too large: it is no mistake.
func TestTooLargeToTrace(t *testing.T) {
	large := &lang.Error{Msg: "the program has more operations", Large: true}
	for _, source := range []string{"builtin", "mine.star"} {
		var r *Refusal
		e := &enumeration{options: &Options{}}
		if err := e.traceError(&templates.Family{Template: &script.Template{Name: "mine"}, Source: source}, large); !errors.As(err, &r) || r.Reason != TooLarge || !strings.Contains(r.Detail, "--family mine") {
			t.Errorf("%s: %v, want too-large", source, err)
		}
	}
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for two million operations")
	}
	e := onDGX(t, 96, Options{})
	_, err := e.route(family(t, "ring"), script.Params{"rings": 2, "channels": 1})
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != TooLarge {
		t.Errorf("two rings through 768 ranks: %v, want too-large", err)
	}
}

// Over many ranks a program is sketched first, and traced in full before it is compiled.
func TestSketchedFirst(t *testing.T) {
	for _, nodes := range []int{8, 136} {
		e := onDGX(t, nodes, Options{})
		e.problem.Collective, e.problem.InPlace = "allgather", false
		r, err := e.route(family(t, "multi-level"), script.Params{"cross": "ring", "local": "ring", "groups": 1, "top": "recursive", "shuffle": true, "rings": 1})
		if err != nil {
			t.Fatal(err)
		}
		sketched := 8*nodes > maxFollowed
		if (r.program == nil) != sketched || (r.cost != nil) != sketched {
			t.Errorf("%d nodes: program kept: %v, cost known: %v", nodes, r.program != nil, r.cost != nil)
		}
		p, err := r.traced()
		if err != nil || len(p.Ops) != r.operations() {
			t.Errorf("%d nodes: %v", nodes, err)
		}
		if err := r.summarize(nil, e.problem.Topology, true); err != nil {
			t.Fatal(err)
		}
		if again := summarize(p, e.problem.Topology); *again != *r.cost {
			t.Errorf("%d nodes: costs %+v, of the sketch %+v", nodes, *again, *r.cost)
		}
	}
}
