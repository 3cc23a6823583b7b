package library

import (
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestMain lets the test binary be the solvers' worker.
func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

// on is the library on a number of nodes of a system, and what it says.
func on(t testing.TB, system string, nodes int, coll string, o Options) (*Library, *[]string) {
	t.Helper()
	said := new([]string)
	return libraryOf(t, program.Target{
		Call: collective.Call{Collective: coll, Op: "sum", DType: "f32"}, Topology: topotest.Resolve(t, system, nodes), InPlace: collective.DefaultInPlace(coll),
	}, o, func(s string) { *said = append(*said, s) }), said
}

func libraryOf(t testing.TB, target program.Target, o Options, say func(string)) *Library {
	b := program.New(target, program.Options{Solver: "pb", Simulated: !o.Measured})
	t.Cleanup(b.Close)
	return New(b, o, say)
}

// calls are the library's at some sizes.
func (l *Library) calls(t testing.TB, sizes ...int64) []Time {
	t.Helper()
	times, err := l.Calls(t.Context(), sizes)
	if err != nil || len(times) != len(sizes) {
		t.Fatalf("%s on %s: %d calls of %d, %v", l.target.Collective, l.target.Topology.Name, len(times), len(sizes), err)
	}
	return times
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
			l, said := on(t, s.name, s.nodes, coll, Options{})
			if chosen, err := l.Choose(t.Context(), all); err != nil || len(chosen.Times) != len(all) {
				t.Errorf("%d x %s, %s: a time at %d of %d sizes: %q, %v", s.nodes, s.name, coll, len(chosen.Times), len(all), *said, err)
			}
		}
	}
}

// TestSwitchesHaveNoProgram: where the library would have switches reduce, the simulator has its
// time; on executors that measure, what it
// runs otherwise stands in under a name that says so, and the sizes are told.
func TestSwitchesHaveNoProgram(t *testing.T) {
	sizes := []int64{1 << 10, 4 << 20, 64 << 20, 1 << 30}
	for _, measured := range []bool{false, true} {
		l, said := on(t, "dgx-h100", 1, "allreduce", Options{Measured: measured})
		for i, c := range l.calls(t, sizes...) {
			switch large := i > 0; {
			case large && !measured:
				if c.Name != "nvls Simple" || c.From != ClosedForm || c.US <= 0 || c.Program != nil {
					t.Errorf("%d bytes: %s, %v us by %s", c.Bytes, c.Name, c.US, c.From)
				}
			case strings.HasSuffix(c.Name, ", for NVLS") != large || c.StandIn != large || !strings.HasPrefix(c.Name, "ring ") || c.US != 0 || c.Program == nil || c.From != Program:
				t.Errorf("measured %v, %d bytes: %s, %v us by %s", measured, c.Bytes, c.Name, c.US, c.From)
			}
		}
		if !measured && len(*said) != 0 || measured && (len(*said) != 1 || !strings.Contains((*said)[0], "at 4M to 1G the library runs NVLS") || !strings.Contains((*said)[0], "overstated")) {
			t.Errorf("measured %v: said %q", measured, *said)
		}
	}
	l, said := on(t, "dgx-a100", 1, "allreduce", Options{})
	if l.calls(t, sizes...); len(*said) != 0 {
		t.Errorf("said %q of switches that don't reduce", *said)
	}
}

// TestTilesAreTheLibrarys: a tree's chunks are the library's, not the tile of its rings, and its
// time is that with them.
func TestTilesAreTheLibrarys(t *testing.T) {
	l, _ := on(t, "dgx-a100", 2, "allreduce", Options{})
	c := l.calls(t, 8<<20)[0]
	us, err := l.US(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	at := func(tile int64) float64 {
		r, err := sim.Run(c.Program, l.target.Topology, sim.Knobs{Bytes: 8 << 20, Protocol: c.Protocol, TileBytes: tile})
		if err != nil {
			t.Fatal(err)
		}
		return c.Of(r.TimeUS)
	}
	if c.Tile != 72000 || us != at(72000) || us == at(0) {
		t.Errorf("%v us with tiles of %d, want %v of 72000 and not %v", us, c.Tile, at(72000), at(0))
	}
}

// TestTreesFollowLinks: where ranks in order have no links, the library's trees run along a
// ring of a node's GPUs, each pair from a NIC of its own.
func TestTreesFollowLinks(t *testing.T) {
	l, _ := on(t, "mi250x", 4, "allreduce", Options{})
	calls := l.calls(t, 64<<10, 16<<20)
	for i, want := range []string{"double-binary-tree trees=4 ×2 LL", "double-binary-tree trees=4 ×2 Simple"} {
		if calls[i].Name != want {
			t.Errorf("%s, want %s", calls[i].Name, want)
		}
	}
	if calls[1].Tile != 128<<10 {
		t.Errorf("tiles of %d, want twice the chunk of 64 KiB", calls[1].Tile)
	}
}

// TestNoTimeSaysWhy: the library goes through the host where two GPUs have neither a
// link nor a GPU in between, which no program can; what is said is that.
func TestNoTimeSaysWhy(t *testing.T) {
	l, said := on(t, "ring:8", 1, "alltoall", Options{})
	times, err := l.Calls(t.Context(), []int64{1 << 10})
	if err != nil || len(times) != 0 || len(*said) != 1 || !strings.Contains((*said)[0], "link") {
		t.Errorf("%d times, %v; said %q: want that links are missing", len(times), err, *said)
	}
}
