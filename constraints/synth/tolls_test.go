package synth

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/topologies"
)

// sumsOf is an allreduce of so many chunks in so many steps and rounds.
func sumsOf(t interface{ Fatal(...any) }, top *topologies.Topology, chunks, steps, rounds int) *problem {
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: len(top.Ranks), Chunks: chunks, InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(Query{Topology: top, Collective: c, Steps: steps, Rounds: rounds})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTolls has the least R/C of an allreduce for so many steps, where it is more
// than that of any number of steps.
func TestTolls(t *testing.T) {
	s, err := solver.Open(solver.Options{Timeout: time.Hour}) // seconds where nothing else runs
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, w := range []struct {
		topology string
		steps    int
		least    string
	}{
		{"dgx-1", 2, "1"}, {"dgx-1", 3, "1/2"}, {"dgx-1", 4, "1/3"}, {"dgx-1", 6, ""},
		{"dgx-1", 1, ""}, // too far: distances say so
		{"ring:4", 2, "1"}, {"fullmesh:4", 1, "1"}, {"ring:6", 3, "3/2"},
	} {
		p := sumsOf(t, resolve(t, w.topology, 0), 1, w.steps, w.steps)
		known := p.leastRatio()
		got, err := p.tolled(s, solveBudget{ctx: context.Background()}, w.steps, known)
		if err != nil {
			t.Fatal(err)
		}
		ratio := ""
		if got != nil {
			ratio = got.ratio.RatString()
		}
		if ratio != w.least {
			t.Errorf("%s in %d steps: R/C of %q (the bound for any number of steps is %s), want %q", w.topology, w.steps, ratio, known.RatString(), w.least)
		}
	}
}

// TestHopeless has the steps in which sums can't be had though distances allow
// it: nobody may be counted twice.
func TestHopeless(t *testing.T) {
	s := open(t, "pb")
	for _, w := range []struct {
		topology string
		steps    int
		none     bool
	}{{"ring:5", 2, true}, {"ring:5", 3, false}, {"ring:4", 2, false}, {"fullmesh:4", 1, false}, {"dgx-1", 2, false}, {"dgx-1", 1, true}} {
		p := sumsOf(t, resolve(t, w.topology, 0), 1, w.steps, w.steps)
		got, err := p.singleChunkInfeasible(s, solveBudget{ctx: context.Background()}, w.steps)
		if err != nil {
			t.Fatal(err)
		}
		if (got != nil) != w.none {
			t.Errorf("%s in %d steps: %+v, and that there is none is %v", w.topology, w.steps, got, w.none)
		}
		// It is what the question of a chunk with all rounds there are comes to.
		p.Rounds = w.steps * 20
		a, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil || (a.Status == unsat) != w.none {
			t.Errorf("%s in %d steps of %d rounds: %v, %v", w.topology, w.steps, p.Rounds, a.Status, err)
		}
	}
}

// TestTollsHold holds tolls against what a solver finds without any bound, on
// random systems.
func TestTollsHold(t *testing.T) {
	s := open(t, "pb")
	said, met := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ranks, switches, links := drawn(t)
		top := system(ranks, switches, links)
		steps, chunks := rapid.IntRange(1, 3).Draw(t, "steps"), rapid.IntRange(1, 2).Draw(t, "chunks")
		low, err := sumsOf(t, top, 1, steps, steps).tolled(s, solveBudget{ctx: context.Background()}, steps, new(big.Rat))
		if err != nil {
			t.Fatal(err)
		}
		if low == nil {
			return
		}
		said++
		rounds := steps + rapid.IntRange(0, 2).Draw(t, "more")
		p := sumsOf(t, top, chunks, steps, rounds)
		a, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil {
			t.Fatal(err)
		}
		if asked := big.NewRat(int64(rounds), int64(chunks)); a.Status == sat {
			met++
			if asked.Cmp(low.ratio) < 0 {
				t.Fatalf("%d chunks in %d steps of %d rounds, and tolls say R/C is %s at least: %s", chunks, steps, rounds, low.ratio.RatString(), low.why)
			}
		}
	})
	t.Logf("%d bounds, %d routings", said, met)
	if said < 20 || met < 10 {
		t.Errorf("%d bounds, %d of them held against a routing: too few to mean much", said, met)
	}
}

// TestRestricted finds routings among some kinds, and replays them.
func TestRestricted(t *testing.T) {
	s, err := solver.Open(solver.Options{Solver: "pb", Timeout: time.Hour}) // seconds where nothing else runs
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := []struct {
		topology              string
		chunks, steps, rounds int
	}{{"dgx-1", 8, 3, 4}, {"ring:4", 4, 2, 4}, {"ring:6", 6, 4, 8}}
	if os.Getenv("COLLTUNE_LONG") != "" {
		rows = append(rows, rows[0])
		rows[len(rows)-1].chunks, rows[len(rows)-1].steps, rows[len(rows)-1].rounds = 16, 5, 5
	}
	for _, w := range rows {
		p := sumsOf(t, resolve(t, w.topology, 0), w.chunks, w.steps, w.rounds)
		sched, by, err := p.restricted(s, solveBudget{ctx: context.Background()}.within(time.Hour), nil)
		if err != nil || sched == nil {
			t.Errorf("%+v: nothing by %s, %v", w, by, err)
			continue
		}
		if err := Replay(p.Query, p.net.unit, p.names(), sched); err != nil {
			t.Errorf("%+v: %v", w, err)
		}
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		top := turning(t)
		n := len(top.Ranks)
		if n > 5 {
			return // larger ones are long to refute
		}
		p := sumsOf(t, top, n, 2, 2+rapid.IntRange(1, n).Draw(t, "more"))
		sched, _, err := p.restricted(s, solveBudget{ctx: context.Background()}.within(time.Hour), nil)
		if err != nil {
			t.Fatal(err)
		}
		if sched == nil {
			return
		}
		found++
		if err := Replay(p.Query, p.net.unit, p.names(), sched); err != nil {
			t.Fatalf("%d chunks in 2 steps of %d rounds: %v", n, p.Rounds, err)
		}
	})
	t.Logf("%d routings found", found)
	if found < 5 {
		t.Errorf("%d routings found: too few to mean much", found)
	}
}

// TestSharesOfTime has what is asked of solvers keep to the time of the whole.
func TestSharesOfTime(t *testing.T) {
	ask := solveBudget{ctx: context.Background()}.within(time.Hour)
	if part := ask.share(1, 4); part.left() > 15*time.Minute || part.within(time.Hour).left() > 15*time.Minute {
		t.Errorf("%v of an hour, %v of that", part.left(), part.within(time.Hour).left())
	}
	s := open(t, "pb")
	f := constraints.NewFormula("late")
	for _, suits := range []string{"pb", "z3"} {
		a, err := ask.within(0).ask(s, encoding{formula: f, preferred: suits})
		if err != nil || a.Status != solver.Timeout || a.Detail == "" || a.By != "pb" {
			t.Errorf("with no time left: %+v, %v", a, err)
		}
	}
	if a, err := ask.ask(s, encoding{formula: f, preferred: "z3", only: true}); err != nil || a.Status != sat || a.By != "pb" {
		t.Errorf("by a solver that is not in use: %+v, %v", a, err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (solveBudget{ctx: gone}).within(0).ask(s, encoding{formula: f}); err == nil {
		t.Error("no error where the context is over")
	}
}

// TestRestrictions has each kind once, and the first of them its own mirror.
func TestRestrictions(t *testing.T) {
	p := sumsOf(t, resolve(t, "dgx-1", 0), 8, 3, 4)
	seen := map[string]bool{}
	all := p.restrictions()
	for i, r := range all {
		key := r.String()
		for _, g := range r.group {
			key += fmt.Sprint(g.ranks)
		}
		if seen[key] {
			t.Errorf("%s comes twice", r)
		}
		if seen[key] = true; i == 0 && r.String() != "alike by 4, mirrored by [0 1 2 3 4 5 6 7]" {
			t.Errorf("the first is %s", r)
		}
		if r.mirror == nil && len(r.group) == 1 {
			t.Errorf("%d is no restriction", i)
		}
	}
	if len(all) != manyRestrictions {
		t.Errorf("%d kinds, want %d", len(all), manyRestrictions)
	}
	one := system(3, 0, map[[2]int]int{{0, 1}: 1, {1, 2}: 1, {2, 0}: 1}) // no lane leads back
	for _, r := range sumsOf(t, one, 3, 4, 8).restrictions() {
		if r.mirror != nil {
			t.Errorf("a ring of one direction: %s", r)
		}
	}
}
