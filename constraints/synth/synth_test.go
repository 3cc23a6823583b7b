package synth

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// TestWalls answers queries that SCCL does not answer within minutes.
func TestWalls(t *testing.T) {
	s := open(t, "auto")
	rows := []struct {
		topology string
		nodes    int
		row
		long bool
	}{
		{topology: "fullmesh:16", row: row{"allgather", 1, 1, 1, sat}},
		{topology: "fullmesh:16", row: row{"alltoall", 16, 1, 1, sat}},
		{topology: "hub:8", row: row{"allgather", 1, 7, 7, sat}},
		{topology: "hub:8", row: row{"allgather", 1, 6, 6, unsat}},
		{topology: "hub:8", row: row{"gather", 1, 7, 7, sat}},
		{topology: "dgx-2", row: row{"allgather", 1, 14, 14, unsat}},
		{topology: "ring:16", row: row{"allgather", 1, 8, 8, sat}},
		{topology: "ring:16", row: row{"allgather", 2, 14, 14, unsat}},
		{topology: "ring:8", row: row{"alltoall", 8, 4, 8, sat}},
		{topology: "dgx-a100", nodes: 2, row: row{"allgather", 1, 2, 3, sat}},
		{topology: "dgx-a100", nodes: 2, row: row{"reduce", 2, 2, 2, sat}},
		{topology: "ndv2-teccl", nodes: 2, row: row{"allgather", 1, 6, 10, sat}},
		{topology: "ndv2-teccl", nodes: 2, row: row{"allgather", 1, 6, 9, unsat}},
		{topology: "dgx-1", row: row{"alltoall", 24, 8, 8, sat}},
		{topology: "hub:8", row: row{"alltoall", 8, 7, 7, sat}},
		{topology: "ring:8", row: row{"sendrecv", 8, 4, 6, unsat}}, // seven want the other way round: 400/7 GB/s
		{topology: "ring:8", row: row{"sendrecv", 8, 7, 7, sat}},
		{topology: "hub:16", row: row{"alltoall", 16, 15, 15, sat}},
		{topology: "dgx-2", row: row{"allgather", 1, 15, 15, sat}, long: true},
		{topology: "ring:16", row: row{"allgather", 2, 15, 15, sat}, long: true},
	}
	for _, w := range rows {
		switch {
		case w.long && os.Getenv("COLLTUNE_LONG") == "":
			t.Logf("%s %v: only with COLLTUNE_LONG=1", w.topology, w.row)
		default:
			a := ask(t, s, resolve(t, w.topology, w.nodes), w.row)
			if w.status == unsat && a.By != Bound {
				t.Errorf("%s %v: refuted by %s, want the bound", w.topology, w.row, a.By)
			}
		}
	}
}

func TestFrontier(t *testing.T) {
	s := open(t, "auto")
	for _, c := range []struct {
		topology, collective, least string
		want                        [][3]int
	}{
		{"dgx-1", "allgather", "7/6", [][3]int{{2, 2, 3}, {6, 3, 7}}},
		{"dgx-1", "reducescatter", "7/6", [][3]int{{2, 2, 3}, {6, 3, 7}}},
		{"dgx-1", "scatter", "7/6", [][3]int{{6, 2, 7}}},
		{"dgx-1", "alltoall", "1/3", [][3]int{{24, 2, 8}}},
		{"ring:8", "allgather", "7/2", [][3]int{{2, 4, 7}}},
		{"mi300x", "allgather", "1", [][3]int{{1, 1, 1}}},
	} {
		top := resolve(t, c.topology, 0)
		coll, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		points, least, err := Frontier(context.Background(), s, Query{Topology: top, Collective: coll}, FrontierOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got [][3]int
		for _, p := range points {
			got = append(got, [3]int{p.Chunks, p.Steps, p.Rounds})
			if !p.Proved || p.Proof == "" {
				t.Errorf("%s on %s: (%d,%d,%d): %q: want a proof", c.collective, c.topology, p.Chunks, p.Steps, p.Rounds, p.Proof)
			}
		}
		if !slices.Equal(got, c.want) || least.RatString() != c.least || !points[len(points)-1].Optimal {
			t.Errorf("%s on %s: %v with the bound %s, want %v with %s", c.collective, c.topology, got, least.RatString(), c.want, c.least)
		}
	}
}

// TestFrontierTellsWhatIsNotProved gives the solvers no time: every point says that it is
// not proved optimal.
func TestFrontierTellsWhatIsNotProved(t *testing.T) {
	s := open(t, "pb")
	top := resolve(t, "dgx-1", 0)
	c, _ := collective.New(collective.Spec{Name: "allgather", Ranks: 8, Chunks: 1})
	points, _, err := Frontier(context.Background(), s, Query{Topology: top, Collective: c}, FrontierOptions{Work: time.Nanosecond, Steps: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if p.Proved {
			t.Errorf("(%d,%d,%d) is proved though no solver had any time: %s", p.Chunks, p.Steps, p.Rounds, p.Proof)
		}
	}
}

// TestCandidates: candidates are deterministic and valid, and there are none where nothing
// is to be found.
func TestCandidates(t *testing.T) {
	s := open(t, "auto")
	for _, name := range []string{"allgather", "alltoall", "allreduce"} {
		if name == "allreduce" && os.Getenv("COLLTUNE_LONG") == "" {
			continue // the same of what is gathered, and its reverse
		}
		top := resolve(t, "dgx-1", 0)
		c, _ := collective.New(collective.Spec{Name: name, Ranks: 8, Chunks: 1, InPlace: collective.DefaultInPlace(name)})
		var first []Synthesised
		for range 2 {
			got, err := Candidates(context.Background(), s, top, c, time.Minute)
			if err != nil || len(got) == 0 {
				t.Fatalf("%s: %d candidates, %v", name, len(got), err)
			}
			for i, g := range got {
				if refused := constraints.CheckRouting(g.Program, top); len(refused) > 0 {
					t.Errorf("%s: %v", name, refused[0])
				}
				if first != nil && (g.Chunks != first[i].Chunks || !slices.Equal(g.Program.Ops, first[i].Program.Ops)) {
					t.Errorf("%s: candidate %d differs from one time to the next", name, i)
				}
			}
			first = got
		}
	}
	c, _ := collective.New(collective.Spec{Name: "allgather", Ranks: 64, Chunks: 1})
	if got, err := Candidates(context.Background(), s, resolve(t, "torus:4x4x4", 0), c, time.Minute); err != nil || got != nil {
		t.Errorf("64 ranks: %d candidates, %v; want none", len(got), err)
	}
}

// TestReplay: every change of a valid routing is detected.
func TestReplay(t *testing.T) {
	s := open(t, "pb")
	top := resolve(t, "dgx-1", 0)
	for _, name := range []string{"allgather", "reducescatter"} {
		c, _ := collective.New(collective.Spec{Name: name, Ranks: 8, Chunks: 2})
		q := Query{Topology: top, Collective: c, Steps: 2, Rounds: 3}
		a, err := Find(context.Background(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		far := a.Schedule[0].Sends[0]
		far.To = 7 - far.From // across the cube: no link
		for _, lie := range []struct {
			name string
			make func(Schedule) Schedule
		}{
			{"a send left out", func(s Schedule) Schedule { s[1].Sends = s[1].Sends[1:]; return s }},
			{"a round too few", func(s Schedule) Schedule { s[0].Rounds, s[1].Rounds = 1, 1; return s }},
			{"a round too many", func(s Schedule) Schedule { s[0].Rounds++; return s }},
			{"no round", func(s Schedule) Schedule { s[0].Rounds = 0; return s }},
			{"a step too many", func(s Schedule) Schedule { return append(s, Step{Rounds: 1}) }},
			{"steps swapped", func(s Schedule) Schedule { s[0], s[1] = s[1], s[0]; return s }},
			{"a send twice", func(s Schedule) Schedule { s[1].Sends = append(s[1].Sends, s[1].Sends[0]); return s }},
			{"a send without a link", func(s Schedule) Schedule { s[0].Sends[0] = far; return s }},
			{"an unknown chunk", func(s Schedule) Schedule { s[0].Sends[0].Item = 99; return s }},
			{"nothing", func(Schedule) Schedule { return nil }},
		} {
			copied := make(Schedule, len(a.Schedule))
			for i, step := range a.Schedule {
				copied[i] = Step{step.Rounds, slices.Clone(step.Sends)}
			}
			if err := Replay(q, a.Unit, a.Items, lie.make(copied)); err == nil {
				t.Errorf("%s with %s: not caught", name, lie.name)
			}
		}
		if err := Replay(q, a.Unit, a.Items, a.Schedule); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCustom routes a user's collective: a halo exchange in which a rank wants one chunk
// twice.
func TestCustom(t *testing.T) {
	s := open(t, "pb")
	in := func(r int) collective.Want { return collective.Want{Kind: collective.WantInput, Rank: r} }
	table := &collective.Table{In: []int{1, 1, 1, 1}, Out: []int{2, 2, 3, 2},
		Want: [][]collective.Want{{in(3), in(1)}, {in(0), in(2)}, {in(1), in(3), in(1)}, {in(2), in(0)}}}
	c, err := collective.New(collective.Spec{Name: "halo", Ranks: 4, Chunks: 2, Custom: table})
	if err != nil {
		t.Fatal(err)
	}
	top := resolve(t, "ring:4", 0)
	for _, w := range []struct {
		rounds int
		status solver.Status
	}{{1, unsat}, {2, sat}} {
		q := Query{Topology: top, Collective: c, Steps: 1, Rounds: w.rounds}
		a, err := Find(context.Background(), s, q)
		if err != nil || a.Status != w.status {
			t.Fatalf("%d rounds: %v by %s, %v; want %v", w.rounds, a.Status, a.By, err, w.status)
		}
		if a.Status == sat {
			compiled(t, q, a)
		}
	}
}

// TestUnits: a faster link carries more chunks a round, and one slower than the unit none.
func TestUnits(t *testing.T) {
	s := open(t, "pb")
	top := system(3, 0, map[[2]int]int{{0, 1}: 4, {1, 0}: 4, {1, 2}: 2, {2, 1}: 2, {0, 2}: 1, {2, 0}: 1})
	c, _ := collective.New(collective.Spec{Name: "broadcast", Ranks: 3, Chunks: 4})
	for _, w := range []struct {
		unit   int
		steps  int
		rounds int
		status solver.Status
	}{
		{0, 1, 4, sat},   // 1 GB/s a chunk: 4 over the slow link
		{0, 1, 3, unsat}, // 3 of 4 over it
		{0, 2, 3, sat},   // the others by way of rank 1
		{2, 1, 9, unsat}, // at 2 GB/s a chunk the slow link is none
		{2, 2, 5, unsat}, // two rounds to rank 1, and then four
		{2, 2, 6, sat},
	} {
		a, err := Find(context.Background(), s, Query{Topology: top, Collective: c, Steps: w.steps, Rounds: w.rounds, Unit: units.Bandwidth(w.unit * gb)})
		if err != nil || a.Status != w.status {
			t.Errorf("%+v: %v by %s (%s), %v", w, a.Status, a.By, a.Detail, err)
		}
	}
}

func TestQueriesThatMakeNoSense(t *testing.T) {
	s := open(t, "pb")
	ring := resolve(t, "ring:4", 0)
	coll := func(name string, ranks int) collective.Collective {
		c, err := collective.New(collective.Spec{Name: name, Ranks: ranks, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, w := range []struct {
		q    Query
		want string
	}{
		{Query{Collective: coll("allgather", 4), Steps: 1, Rounds: 1}, "want as many"},
		{Query{Topology: ring, Collective: coll("allgather", 5), Steps: 1, Rounds: 1}, "want as many"},
		{Query{Topology: ring, Collective: coll("allgather", 4), Steps: 0, Rounds: 1}, "0 steps: want 1 to"},
		{Query{Topology: ring, Collective: coll("allgather", 4), Steps: 3, Rounds: 2}, "rounds R=2 for steps S=3"},
		{Query{Topology: ring, Collective: coll("allgather", 4), Steps: 3, Rounds: 1 << 20}, "at most"},
		{Query{Topology: ring, Collective: coll("allgather", 4), Steps: 1, Rounds: 1, Unit: -1}, "unit"},
		{Query{Topology: resolve(t, "ring:300", 0), Collective: coll("allgather", 300), Steps: 150, Rounds: 150}, "at most 256"},
	} {
		if _, err := Find(context.Background(), s, w.q); err == nil || !strings.Contains(err.Error(), w.want) {
			t.Errorf("%d steps of %d rounds: %v, want %q", w.q.Steps, w.q.Rounds, err, w.want)
		}
	}
	if _, err := ChunksOf("alltoall", 8, 12); err == nil {
		t.Error("12 chunks of an alltoall over 8: no error")
	}
}

// TestInterrupted: a long query ends with its context.
func TestInterrupted(t *testing.T) {
	s := open(t, "auto")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c, _ := collective.New(collective.Spec{Name: "allgather", Ranks: 16, Chunks: 2})
	_, err := Find(ctx, s, Query{Topology: resolve(t, "ring:16", 0), Collective: c, Steps: 15, Rounds: 15})
	if err == nil {
		t.Error("an answer after the end")
	}
}

func BenchmarkAllgatherDGX1(b *testing.B) {
	top, err := topologies.Resolve("dgx-1", topologies.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := open(b, "pb")
	c, _ := collective.New(collective.Spec{Name: "allgather", Ranks: 8, Chunks: 6})
	for b.Loop() {
		if a, err := Find(context.Background(), s, Query{Topology: top, Collective: c, Steps: 3, Rounds: 7}); err != nil || a.Status != sat {
			b.Fatal(a.Status, err)
		}
	}
}

// TestSums routes allreduces without composing them.
func TestSums(t *testing.T) {
	line := system(3, 0, map[[2]int]int{{0, 1}: 1, {1, 0}: 1, {1, 2}: 1, {2, 1}: 1})
	each(t, func(t *testing.T, s *solver.Pool) {
		for _, w := range []struct {
			top *topologies.Topology
			row
		}{
			{line, row{"allreduce", 1, 2, 2, sat}}, // into the middle and back
			{line, row{"allreduce", 2, 2, 2, unsat}},
			{line, row{"allreduce", 2, 3, 3, sat}},
			{resolve(t, "ring:4", 0), row{"allreduce", 1, 2, 2, sat}}, // exchanges
			{resolve(t, "ring:4", 0), row{"allreduce", 2, 2, 2, sat}}, // both ways at once
			{resolve(t, "ring:4", 0), row{"allreduce", 3, 2, 2, unsat}},
			{resolve(t, "fullmesh:4", 0), row{"allreduce", 1, 1, 1, sat}}, // everyone to everyone
			{resolve(t, "fullmesh:4", 0), row{"allreduce", 2, 1, 1, unsat}},
			{resolve(t, "fullmesh:4", 0), row{"allreduce", 4, 2, 2, sat}}, // composed
			{resolve(t, "hub:4", 0), row{"allreduce", 1, 2, 2, sat}},
			{resolve(t, "hub:4", 0), row{"allreduce", 1, 1, 2, unsat}},
		} {
			ask(t, s, w.top, w.row)
		}
	})
}

// TestPrograms compiles and verifies routings found on random systems, in place and out of
// place.
func TestPrograms(t *testing.T) {
	s := open(t, "pb")
	made := 0
	rapid.Check(t, func(rt *rapid.T) {
		ranks, switches, links := drawn(rt)
		spec := collective.Spec{Ranks: ranks, Chunks: rapid.IntRange(1, 2).Draw(rt, "chunks")}
		spec.Name = rapid.SampledFrom([]string{"allreduce", "allreduce", "broadcast", "allgather", "gather", "scatter", "alltoall", "alltonext", "sendrecv", "reduce", "reducescatter"}).Draw(rt, "collective")
		spec.InPlace = rapid.Bool().Draw(rt, "in place")
		c, err := collective.New(spec)
		if err != nil {
			spec.InPlace = false
			if c, err = collective.New(spec); err != nil {
				rt.Fatal(err)
			}
		}
		if c.Rooted() {
			spec.Root = rapid.IntRange(0, ranks-1).Draw(rt, "root")
			c, _ = collective.New(spec)
		}
		steps := rapid.IntRange(2, 3).Draw(rt, "steps")
		q := Query{Topology: system(ranks, switches, links), Collective: c, Steps: steps, Rounds: steps + rapid.IntRange(0, 3).Draw(rt, "more")}
		a, err := Find(context.Background(), s, q)
		if err != nil {
			rt.Fatal(err)
		}
		if a.Status == sat {
			made++
			compiled(t, q, a)
		}
	})
	if made < 10 {
		t.Errorf("%d programs: too few to mean much", made)
	}
}
