package library

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/search/library/nccl"
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

// TestTreesOfSwitchesAreNamed: over nodes the switches' reductions are the ends of trees, which are
// not NVLS to the library.
func TestTreesOfSwitchesAreNamed(t *testing.T) {
	l, _ := on(t, "dgx-h100", 2, "allreduce", Options{})
	if c := l.calls(t, 1<<30)[0]; c.Name != "nvlstree Simple" || c.From != ClosedForm || c.US <= 0 {
		t.Errorf("%s, %v us by %s", c.Name, c.US, c.From)
	}
	l, said := on(t, "dgx-h100", 2, "allreduce", Options{Measured: true})
	if c := l.calls(t, 1<<30)[0]; !strings.HasSuffix(c.Name, ", for NVLSTREE") || len(*said) != 1 || !strings.Contains((*said)[0], "at 1G the library runs NVLSTREE") {
		t.Errorf("%s, said %q", c.Name, *said)
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

// A state of the buffers has the time that it has where the user's are in it, and copies besides;
// the least time is no more than any state's. A state that chooses as a lesser one has no time.
func TestStates(t *testing.T) {
	sizes := []int64{4 << 10, 1 << 20, 64 << 20}
	for _, system := range []string{"dgx-a100", "dgx-h100", "dgx-b200"} {
		for _, coll := range []string{"allreduce", "allgather", "reducescatter"} {
			l, _ := on(t, system, 1, coll, Options{Others: true})
			all, err := l.Choose(t.Context(), sizes)
			if err != nil {
				t.Fatal(err)
			}
			windows, _ := on(t, system, 1, coll, Options{Registered: nccl.Window})
			named, err := windows.Choose(t.Context(), sizes)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range all.Times {
				if one.Registered != nccl.Window {
					continue
				}
				i := slices.IndexFunc(named.Times, func(n Time) bool { return n.Bytes == one.Bytes })
				if n := named.Times[i]; n.Name != one.Name || n.Evidence != one.Evidence || n.CopiesUS != 0 || one.US > 0 && (one.CopiesUS <= 0 || one.US-one.CopiesUS-n.US > 1e-9) {
					t.Errorf("%s of %d on %s in windows: %+v as called, %+v besides", coll, one.Bytes, system, n, one)
				}
			}
			least, err := l.LeastUS(t.Context(), sizes[1:2])
			if err != nil {
				t.Fatal(err)
			}
			times, err := l.Calls(t.Context(), sizes[1:2])
			if err != nil || len(times) == 0 {
				t.Fatal(times, err)
			}
			for i := range times {
				if us, err := l.US(t.Context(), &times[i]); err != nil || least[sizes[1]] > us {
					t.Errorf("%s on %s: %v us, and %s takes %v, %v", coll, system, least[sizes[1]], times[i].Name, us, err)
				}
			}
		}
	}
	// Rings and trees alone take collectives that no kernel for windows does.
	l, _ := on(t, "dgx-h100", 1, "broadcast", Options{Others: true})
	if all, err := l.Choose(t.Context(), sizes); err != nil || len(all.Times) != len(sizes) {
		t.Errorf("broadcast: %v, %v", all.Times, err)
	}
}

// Copies are of what a release needs in windows, at the rate of the memory.
func TestCopies(t *testing.T) {
	l, _ := on(t, "dgx-b200", 1, "allgather", Options{})
	top := l.target.Topology
	us := func(release, coll string, bytes int64) float64 {
		r, err := FindRelease(release, "nccl")
		if err != nil {
			t.Fatal(err)
		}
		return r.copiesUS(top, coll, bytes)
	}
	one, both := us("nccl-2.29", "allgather", 1<<30), us("nccl-2.28", "allgather", 1<<30)
	moved := float64(2<<30) / top.Ranks[0].Memory.PerMicro()
	if one < moved || one > moved+20 || both <= one || both > 1.125*one+20 {
		t.Errorf("copies of an all-gather take %v us out of a window alone, and %v into one, too: want some %v", one, both, moved)
	}
	if ar := us("nccl", "allreduce", 1<<30); ar <= both {
		t.Errorf("copies of an all-reduce take %v us, and of an all-gather %v", ar, both)
	}
	for i, o := range []Options{{}, {Windows: true}, {Registered: nccl.Window}} {
		if got := o.copies(nccl.Window); got != (i == 0) || o.copies(nccl.None) {
			t.Errorf("%+v: copies %t", o, got)
		}
	}
}

func TestFindRelease(t *testing.T) {
	for _, tc := range []struct{ name, library, want string }{
		{"nccl", "nccl", "nccl-2.32.3"},
		{"nccl-2.30", "nccl", "nccl-2.30.7"},
		{"nccl-2.30.7", "nccl", "nccl-2.30.7"},
		{"nccl-2.3", "nccl", ""},
		{"nccl-2.30.4", "nccl", ""},
		{"nccl-", "nccl", ""},
		{"rccl-2.21", "rccl", "rccl-2.21.5"},
		{"rccl-2.28", "rccl", "rccl-2.28.3"},
		{"rccl-2.28.3-rocm7.11", "rccl", "rccl-2.28.3-rocm7.11"},
		{"rccl", "rccl", "rccl-2.30.7"},
		{"rccl", "nccl", ""},
		{"nccl-2.30", "rccl", ""},
	} {
		r, err := FindRelease(tc.name, tc.library)
		if tc.want == "" {
			if err == nil || !strings.Contains(err.Error(), Newest(tc.library).String()) {
				t.Errorf("%s: %v, %v: want those there are", tc.name, r, err)
			}
			continue
		}
		if err != nil || r.String() != tc.want {
			t.Errorf("%s: %v, %v, want %s", tc.name, r, err, tc.want)
		}
	}
	for name, want := range map[string]string{"nccl-2.30": "nccl-2.30.7 ", "nccl-2.26": "nccl-2.26.6 ",
		"nccl-2.30.4": "nccl-2.29.7 NCCL 2.30.4 has no row: nccl-2.29.7 stands for it", "nccl-2.99": "nccl-2.32.3 NCCL 2.99 has no row: nccl-2.32.3 stands for it",
		"nccl-2.19": "", "nccl-2.3": "", "nccl-": "", "rccl-2.28": ""} {
		r, note, err := AskedRelease(name, "nccl")
		if (err != nil) != (want == "") || err == nil && r.String()+" "+note != want {
			t.Errorf("%s: %s %s, %v: want %s", name, r, note, err, want)
		}
	}
	for version, want := range map[string]string{"2.30.4": "nccl-2.29.7", "2.29.3": "nccl-2.29.2", "2.19.3": "nccl-2.26.6", "2.26.3": "nccl-2.26.6", "2.99": "nccl-2.32.3"} {
		r, note, err := StandIn("nccl", version)
		if err != nil || r.String() != want || !strings.Contains(note, "NCCL "+version+" has no row") {
			t.Errorf("%q: %v, %v, want %s", version, r, err, want)
		}
		if named, err := FindRelease(r.String(), "nccl"); err != nil || named != r {
			t.Errorf("%s: %v, %v: want the release of that name", r, named, err)
		}
	}
}

// Settings are not what the library runs by itself; their times are those of the same programs as the library's own are, and
// a draft that is there serves for them.
func TestSettings(t *testing.T) {
	const bytes = 64 << 20
	l, _ := on(t, "dgx-a100", 1, "allreduce", Options{})
	chosen, err := l.Choose(t.Context(), []int64{bytes})
	if err != nil {
		t.Fatal(err)
	}
	all, more, err := l.Settings(t.Context(), []int64{1 << 10, bytes}, []nccl.Registered{nccl.None, nccl.Window}, nccl.ChannelCounts, nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]*Setting{}
	for _, s := range all {
		names[program.CandidateName(s.Algorithm, s.Parameters, 0)] = s
		for _, x := range s.Times {
			if x.Name == chosen.Times[0].Name {
				t.Errorf("%s runs %s, as the library does by itself", s.Algorithm, x.Name)
			}
		}
	}
	for _, name := range []string{"ring channels=32", "ring channels=16", "tree", "symmetric ctas=4 kernel=AllReduce_RSxLD_AGxST registered=window"} {
		if names[name] == nil {
			t.Errorf("no setting %q", name)
		}
	}
	ring := names["ring channels=32"]
	if ring.At(1<<10, chosen.Times[0].Protocol) != nil {
		t.Error("a call of 1K fills no 32 channels, and has a setting of as many")
	}
	// A draft of that name serves, and nothing else is built for it.
	of := ring.At(bytes, chosen.Times[0].Protocol)
	again, fewer, err := l.Settings(t.Context(), []int64{bytes}, []nccl.Registered{nccl.None}, nccl.ChannelCounts, []*program.Draft{of.Draft})
	if err != nil || slices.Contains(fewer, of.Draft) || !slices.Contains(more, of.Draft) {
		t.Errorf("%v: its draft is built anew", err)
	}
	if i := slices.IndexFunc(again, func(s *Setting) bool { return s.Algorithm == "ring" && s.Channels == 32 }); i < 0 || again[i].At(bytes, of.Protocol).Draft != of.Draft {
		t.Error("it takes another draft than the one that is there")
	}
	made, err := l.build.Build(t.Context(), of.Draft)
	if err != nil || made.Refusal != nil {
		t.Fatal(err, made.Refusal)
	}
	ring.Take(func(d *program.Draft) *program.Built {
		if d == of.Draft {
			return made
		}
		return nil // of which no time is known
	})
	us, err := ring.At(bytes, of.Protocol).Simulate(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	given := *of
	given.Program = made.Program
	want, err := l.US(t.Context(), &given)
	if bound := ring.At(bytes, of.Protocol).Bound(4); err != nil || math.Abs(us-want) > 1e-9 || bound > us || bound <= 0 || of.CTAs != 32 {
		t.Errorf("%v us, bound %v, %d threadblocks: want %v us of 32; %v", us, bound, of.CTAs, want, err)
	}
}

// There are none of a kind of call that no variable reaches, nor of sizes of which measured times ship.
func TestNoSettings(t *testing.T) {
	for _, c := range []struct {
		system     string
		nodes      int
		collective string
		bytes      int64
		options    Options
	}{
		{"dgx-a100", 1, "alltoall", 1 << 20, Options{}},
		{"mi300x", 1, "allreduce", 1 << 20, Options{}},                   // direct access
		{"frontier", 64, "allreduce", 64 << 20, Options{Shipped: true}},  // measured
		{"dgx-a100", 32, "allreduce", 256 << 20, Options{Shipped: true}}, // rings are of a steady state
	} {
		l, _ := on(t, c.system, c.nodes, c.collective, c.options)
		all, _, err := l.Settings(t.Context(), []int64{c.bytes}, []nccl.Registered{nccl.None}, nccl.ChannelCounts, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s.Algorithm != "tree" || c.nodes != 32 {
				t.Errorf("%s ×%d, %s: %s %v", c.system, c.nodes, c.collective, s.Algorithm, s.Parameters)
			}
		}
	}
}
