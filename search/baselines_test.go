package search

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// baselinesOf drafts the baselines of a problem alone, and gives the sizes that
// have one and what was said.
func baselinesOf(t *testing.T, pr problem) (sizes int, said []string) {
	t.Helper()
	p, _ := pr.resolve(t)
	solvers, err := solver.Open(solver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer solvers.Close()
	e := &enumeration{problem: &p, options: &Options{Executor: "sim", Observer: Observer{Notice: func(s string) { said = append(said, s) }}}, machine: machineOf(p.Topology), solvers: solvers}
	drafts, clocked, err := e.baseline(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sizes = len(clocked)
	for _, d := range drafts {
		sizes += len(d.points)
	}
	return sizes, said
}

// TestEverySizeHasABaseline on systems where the library's choice has no program
// of ours at some: fewer rings where there are not so many. COLLTUNE_LONG looks at the whole catalogue.
func TestEverySizeHasABaseline(t *testing.T) {
	type system struct {
		name  string
		nodes int
	}
	systems := []system{{"frontier", 1}, {"frontier", 2}, {"dgx-2-teccl", 2}, {"ndv2", 2}, {"l40s-4", 1}}
	if os.Getenv("COLLTUNE_LONG") != "" {
		for _, name := range topologies.Names() {
			systems = append(systems, system{name, 1}, system{name, 2})
		}
	}
	all := []int64{1 << 10, 1 << 16, 1 << 22, 1 << 30}
	for _, s := range systems {
		for _, coll := range []string{"allreduce", "allgather", "broadcast"} {
			if sizes, said := baselinesOf(t, problem{s.name, s.nodes, coll, all}); sizes != len(all) {
				t.Errorf("%d x %s, %s: a baseline at %d of %d sizes: %q", s.nodes, s.name, coll, sizes, len(all), said)
			}
		}
	}
}

func first[A, B any](a A, _ B) A { return a }

// TestSwitchesHaveNoProgram: where the library would have switches reduce, the simulator has its
// time; on executors that measure, what it
// runs otherwise stands in under a name that says so, and the sizes are told.
func TestSwitchesHaveNoProgram(t *testing.T) {
	sizes := []int64{1 << 10, 4 << 20, 64 << 20, 1 << 30}
	p := first(problem{"dgx-h100", 1, "allreduce", sizes}.resolve(t))
	for _, executor := range []string{"sim", "cpu"} {
		var said []string
		calls, err := LibraryCalls(t.Context(), p, Options{Solver: "pb", Executor: executor, Observer: Observer{Notice: func(s string) { said = append(said, s) }}})
		if err != nil || len(calls) != len(sizes) {
			t.Fatalf("%s: %d calls of %d: %v", executor, len(calls), len(sizes), err)
		}
		for i, c := range calls {
			switch large := i > 0; {
			case large && executor == "sim":
				if c.Name != "nvls Simple" || c.ClockUS <= 0 || c.Program != nil {
					t.Errorf("%s, %d bytes: %s, %v us", executor, c.Bytes, c.Name, c.ClockUS)
				}
			case strings.HasSuffix(c.Name, ", for NVLS") != large || !strings.HasPrefix(c.Name, "ring ") || c.ClockUS != 0 || c.Program == nil:
				t.Errorf("%s, %d bytes: %s, %v us", executor, c.Bytes, c.Name, c.ClockUS)
			}
		}
		if executor == "sim" && len(said) != 0 || executor == "cpu" && (len(said) != 1 || !strings.Contains(said[0], "at 4M to 1G the library runs NVLS") || !strings.Contains(said[0], "overstated")) {
			t.Errorf("%s: said %q", executor, said)
		}
	}
	if _, said := baselinesOf(t, problem{"dgx-a100", 1, "allreduce", sizes}); len(said) != 0 {
		t.Errorf("said %q of switches that don't reduce", said)
	}
}

// TestBaselineTiles: a tree's chunks are the library's, not the tile of its rings.
func TestBaselineTiles(t *testing.T) {
	table, _ := searched(t, problem{"dgx-a100", 2, "allreduce", []int64{8 << 20}}, Options{Families: []string{"ring"}, Instances: 1})
	calls, err := LibraryCalls(t.Context(), first(problem{"dgx-a100", 2, "allreduce", []int64{8 << 20}}.resolve(t)), Options{Solver: "pb"})
	if err != nil || len(calls) != 1 || calls[0].Tile != 72000 {
		t.Fatalf("calls %+v, %v: want one with tiles of 72000", calls, err)
	}
	top := first(problem{"dgx-a100", 2, "allreduce", nil}.resolve(t)).Topology
	at := func(tile int64) float64 {
		r, err := sim.Run(calls[0].Program, top, sim.Knobs{Bytes: 8 << 20, Protocol: calls[0].Protocol, TileBytes: tile})
		if err != nil {
			t.Fatal(err)
		}
		return r.TimeUS
	}
	if got := table.Rows[0].BaselineTimeUS; got == nil || *got != at(72000) || *got == at(0) {
		t.Errorf("baseline of %v us, want %v and not %v", got, at(72000), at(0))
	}
}

// TestTreesFollowLinks: where ranks in order have no links, the library's trees run along a
// ring of a node's GPUs, each pair from a NIC of its own.
func TestTreesFollowLinks(t *testing.T) {
	calls, err := LibraryCalls(t.Context(), first(problem{"mi250x", 4, "allreduce", []int64{64 << 10, 16 << 20}}.resolve(t)), Options{Solver: "pb"})
	if err != nil || len(calls) != 2 {
		t.Fatalf("calls %+v, %v: want two", calls, err)
	}
	for i, want := range []string{"double-binary-tree trees=4 ×2 LL", "double-binary-tree trees=4 ×2 Simple"} {
		if calls[i].Name != want {
			t.Errorf("%s, want %s", calls[i].Name, want)
		}
	}
	if calls[1].Tile != 128<<10 {
		t.Errorf("tiles of %d, want twice the chunk of 64 KiB", calls[1].Tile)
	}
}

// TestNoBaselineSaysWhy: the library goes through the host where two GPUs have neither a
// link nor a GPU in between, which no program can; what is printed is that.
func TestNoBaselineSaysWhy(t *testing.T) {
	sizes, said := baselinesOf(t, problem{"ring:8", 1, "alltoall", []int64{1 << 10}})
	if sizes != 0 || len(said) != 1 || !strings.Contains(said[0], "link") {
		t.Errorf("a baseline at %d sizes; said %q: want that links are missing", sizes, said)
	}
}

// TestMoreRingsThanThereAre: of rings that could not be found, more are not asked
// for, and the refusal says so.
func TestMoreRingsThanThereAre(t *testing.T) {
	p, _ := problem{"frontier", 1, "allreduce", []int64{1 << 20}}.resolve(t)
	solvers, err := solver.Open(solver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &enumeration{problem: &p, options: &Options{Executor: "sim"}, machine: machineOf(p.Topology), solvers: solvers}
	if _, err = e.ringsEverywhere(context.Background(), question{count: 7}); err == nil {
		t.Fatal("seven rings on a frontier")
	}
	solvers.Close() // nobody is there to be asked
	var refusal *Refusal
	if _, err = e.ringsEverywhere(context.Background(), question{count: 8}); !errors.As(err, &refusal) || !strings.Contains(refusal.Detail, "not even 7: ") {
		t.Errorf("eight rings: %v, want that there are not even 7", err)
	}
}

// A user's family that is called like the library's is not what it runs.
func TestBaselineIsNotTheUsers(t *testing.T) {
	p, _ := problem{"fullmesh:4", 1, "allgather", []int64{1 << 20}}.resolve(t)
	var want []Baseline
	for _, own := range [][]Template{nil, {{"mine.star", strings.Replace(ringOfMine, `"mine"`, `"ring"`, 1)}}} {
		s, err := Enumerate(context.Background(), p, Options{Executor: "sim", Families: []string{"ring"}, Instances: 1, Templates: own})
		if err != nil {
			t.Fatal(err)
		}
		if own == nil {
			want = s.Baselines
		}
		if len(want) != 1 || want[0].hash == "" || !slices.Equal(s.Baselines, want) {
			t.Errorf("compared with %v, want %v", s.Baselines, want)
		}
	}
}
