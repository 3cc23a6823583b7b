package synth

import (
	"context"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/symmetry"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// turning draws a system with rotational symmetry: links from each rank to the one a fixed
// distance on, all of one width, some through a switch; in half of the cases one link
// differs.
func turning(t *rapid.T) *topologies.Topology {
	ranks := rapid.IntRange(3, 5).Draw(t, "ranks")
	switches := rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "switches")
	links := map[[2]int]int{}
	for on := 1; on < ranks; on++ {
		if width := rapid.IntRange(0, 2).Draw(t, "width"); on == 1 || width > 0 {
			for r := range ranks {
				links[[2]int{r, (r + on) % ranks}] = max(width, 1)
			}
		}
	}
	if switches == 1 {
		for r := range ranks {
			links[[2]int{r, ranks}], links[[2]int{ranks, r}] = 2, 1
		}
	}
	if rapid.Bool().Draw(t, "dent") { // one link that is not like the others
		links[[2]int{0, 1}]++
	}
	return system(ranks, switches, links)
}

// asked draws a built-in collective.
func asked(t *rapid.T, ranks int) collective.Collective {
	spec := collective.Spec{Ranks: ranks, Chunks: rapid.IntRange(1, 2).Draw(t, "chunks")}
	spec.Name = rapid.SampledFrom([]string{"allreduce", "broadcast", "allgather", "gather", "scatter", "alltoall", "alltonext", "sendrecv", "reduce", "reducescatter"}).Draw(t, "collective")
	c, err := collective.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if c.Rooted() {
		spec.Root = rapid.IntRange(0, ranks-1).Draw(t, "root")
		c, _ = collective.New(spec)
	}
	return c
}

// TestSymmetryChangesNoStatus solves random allreduces with and without symmetry breaking,
// without bounds: both are satisfiable, or neither.
func TestSymmetryChangesNoStatus(t *testing.T) {
	s := open(t, "pb")
	rounds := 3
	if os.Getenv("COLLTUNE_LONG") != "" {
		rounds = 50 // times what rapid makes
	}
	broken, refuted := 0, 0
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			top := turning(t)
			c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: len(top.Ranks), Chunks: rapid.IntRange(1, 4).Draw(t, "chunks")})
			if err != nil {
				t.Fatal(err)
			}
			steps := rapid.IntRange(1, 3).Draw(t, "steps")
			p, err := newProblem(context.Background(), Query{Topology: top, Collective: c, Steps: steps, Rounds: steps + rapid.IntRange(0, 2).Draw(t, "more"), Unit: gb})
			if err != nil {
				t.Fatal(err)
			}
			status := func(breaking bool) solver.Status {
				a, err := s.Solve(context.Background(), p.encode(nil, breaking).formula)
				if err != nil {
					t.Fatal(err)
				}
				return a.Status
			}
			if len(p.automorphisms()) > 0 {
				broken++
			}
			was, now := status(false), status(true)
			if was != now {
				t.Fatalf("%s in %d steps of %d rounds: %v, and %v with symmetries broken", c.Name, steps, p.Rounds, was, now)
			}
			if was == unsat {
				refuted++
			}
		})
	}
	t.Logf("%d queries with symmetries, %d without a routing", broken, refuted)
	if broken < 10*rounds || refuted < 5*rounds {
		t.Errorf("%d queries had symmetries, %d no routing: too few to mean much", broken, refuted)
	}
}

// TestRenamings applies automorphisms to routings found: the renamed routing is valid, or
// the renaming was no automorphism.
func TestRenamings(t *testing.T) {
	s := open(t, "pb")
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		top := turning(t)
		c := asked(t, len(top.Ranks))
		q := Query{Topology: top, Collective: c, Steps: 3, Rounds: 6, Unit: gb}
		p, err := newProblem(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Find(context.Background(), s, q)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != sat {
			return
		}
		for _, r := range p.automorphisms() {
			tried++
			becomes := make([]int, len(p.items))
			for i, class := range p.classes {
				for k, x := range class {
					becomes[x] = p.classes[r.classes[i]][k]
				}
			}
			renamed := make(Schedule, len(a.Schedule))
			for i, step := range a.Schedule {
				renamed[i].Rounds = step.Rounds
				for _, m := range step.Sends {
					renamed[i].Sends = append(renamed[i].Sends, Send{becomes[m.Item], r.ranks[m.From], r.ranks[m.To], m.Reduce})
				}
			}
			if err := Replay(q, a.Unit, a.Items, renamed); err != nil {
				t.Fatalf("%s: ranks renamed %v: %v", c.Name, r.ranks, err)
			}
		}
	})
	if tried < 20 {
		t.Errorf("%d automorphisms: too few to mean much", tried)
	}
}

// TestKnownSymmetries lists ranks that automorphisms do and do not exchange.
func TestKnownSymmetries(t *testing.T) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		root       int
		alike      [][]int // ranks
	}{
		{"dgx-1", 0, "allgather", 0, [][]int{{0, 2, 4, 6}, {1, 3, 5, 7}}},
		{"dgx-1", 0, "broadcast", 0, [][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}},
		{"ring:6", 0, "alltoall", 0, [][]int{{0, 1, 2, 3, 4, 5}}},
		{"ring:6", 0, "gather", 2, [][]int{{0, 4}, {1, 3}, {2}, {5}}},
		{"ring:6", 0, "alltonext", 0, [][]int{{0}, {1}, {2}, {3}, {4}, {5}}}, // one way, with an end
		{"ring:6", 0, "sendrecv", 0, [][]int{{0, 1, 2, 3, 4, 5}}},
		{"hub:4", 0, "reduce", 1, [][]int{{0, 2, 3}, {1}}},
		{"mesh:2x3", 0, "allreduce", 0, [][]int{{0, 2, 3, 5}, {1, 4}}},
		{"dgx-a100", 2, "allgather", 0, [][]int{lists.UpTo(16)}},
	} {
		top := resolve(t, c.topology, c.nodes)
		coll, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1, Root: c.root})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newProblem(context.Background(), Query{Topology: top, Collective: coll, Steps: 4, Rounds: 4})
		if err != nil {
			t.Fatal(err)
		}
		var images [][]int
		for _, r := range p.automorphisms() {
			images = append(images, r.ranks)
		}
		var got [][]int
		at := map[int]int{}
		for r, first := range symmetry.Orbits(p.net.ranks, images) {
			if first == r {
				at[r] = len(got)
				got = append(got, nil)
			}
			got[at[first]] = append(got[at[first]], r)
		}
		if !slices.EqualFunc(got, c.alike, slices.Equal[[]int]) {
			t.Errorf("%s on %s: ranks %v are alike, want %v", c.collective, c.topology, got, c.alike)
		}
	}
}

// BenchmarkSums refutes an allreduce on a cube with and without symmetry breaking.
func BenchmarkSums(b *testing.B) {
	s := open(b, "pb")
	top := resolve(b, "hypercube:3", 0)
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 8, Chunks: 8})
	if err != nil {
		b.Fatal(err)
	}
	p, err := newProblem(context.Background(), Query{Topology: top, Collective: c, Steps: 3, Rounds: 5})
	if err != nil {
		b.Fatal(err)
	}
	open, _, err := p.boundSums(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	for name, breaking := range map[string]bool{"as it stands": false, "symmetries broken": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if a, err := s.Solve(context.Background(), p.encode(open, breaking).formula); err != nil || a.Status != unsat {
					b.Fatal(a.Status, err)
				}
			}
		})
	}
}
