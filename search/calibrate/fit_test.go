package calibrate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// measuredOn is what the simulator takes on a system for the calls that the library
// would choose on another.
func measuredOn(t *testing.T, system, other *topologies.Topology, sizes ...int64) (points []Point) {
	t.Helper()
	builder := program.New(program.Target{Topology: other, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true}, program.Options{})
	defer builder.Close()
	calls, err := library.New(builder, library.Options{}, func(string) {}).Calls(t.Context(), sizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != len(sizes) {
		t.Fatalf("%d calls of %d", len(calls), len(sizes))
	}
	for i, c := range calls {
		r, err := sim.Run(c.Program, system, sim.Knobs{Bytes: c.Bytes, Protocol: c.Protocol, TileBytes: c.Tile})
		if err != nil || c.Bytes != sizes[i] {
			t.Fatal(c.Bytes, err)
		}
		points = append(points, Called(&c, r.TimeUS))
	}
	return points
}

func resolve(t *testing.T, name string) *topologies.Topology {
	t.Helper()
	top, err := topologies.Resolve(name, topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// fit fits with two jobs, and holds the result to what is true of every one.
func fit(t *testing.T, r Request) *Result {
	t.Helper()
	r.Jobs = 2
	got, err := Fit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	worse := false
	for _, o := range Origins {
		if e := got.Errors(o, false); e.After.Mean > e.Before.Mean+1e-9 {
			t.Errorf("the %s's rows that are fitted to come out worse: %+v", o, e)
		}
		e := got.Errors(o, true)
		if e.After.Mean > e.Before.Mean+1e-9 || e.After.Median > e.Before.Median+1e-9 {
			worse = true
		}
	}
	switch {
	case worse && !got.IsZero():
		t.Errorf("took %+v, with which the judging rows come out worse", got.Calibration)
	case len(got.Worse()) == 0 && !reflect.DeepEqual(got.Calibration, got.Tried):
		t.Errorf("tried %+v, and took %+v", got.Tried, got.Calibration)
	}
	if programs := slices.ContainsFunc(r.Tables, func(t Table) bool { return t.Origin == Program }); !programs {
		if got.Tried.Speed != 0 || got.Tried.Launch != 0 && r.Settled.Launch {
			t.Errorf("fitted %+v to the library's rows alone", got.Tried)
		}
		for _, k := range r.Settled.Links {
			if got.Tried.Links[k] != 0 {
				t.Errorf("fitted %v to the library's rows alone", k)
			}
		}
	}
	for k, times := range got.Tried.Links {
		m := machine{Topology: r.Tables[0].Topology, kind: k, guesses: r.Settled.Guessed}
		if most := limitsOf(links, &m).at[most]; times > most {
			t.Errorf("%v × %g, of at most %g", k, times, most)
		}
	}
	return got
}

var sizes = []int64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}

// TestFitFindsWhatWasChanged: of times that the simulator takes with other numbers
// it finds these numbers.
func TestFitFindsWhatWasChanged(t *testing.T) {
	for _, c := range []struct {
		name, topology string
		origin         Origin
		is             topologies.Calibration
		slow           bool // left to make test-long
	}{
		{"nothing", "l40s-4", Library, topologies.Calibration{}, false},
		{"nothing in programs", "l40s-4", Program, topologies.Calibration{}, true},
		{"launch", "l40s-4", Library, topologies.Calibration{Launch: 6.3}, false},
		{"less launch", "l40s-4", Library, topologies.Calibration{Launch: -2.5}, true},
		{"links", "dgx-1", Library, topologies.Calibration{Launch: 3, Links: map[topologies.LinkKind]float64{topologies.NVLink: 0.6}}, false},
		{"threadblocks", "dgx-1", Program, topologies.Calibration{Launch: 3, Speed: 0.7}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && os.Getenv("COLLTUNE_LONG") == "" {
				t.Skip("set COLLTUNE_LONG for this fit")
			}
			top := resolve(t, c.topology)
			points := measuredOn(t, top.Calibrated(c.is), top, sizes...)
			r := fit(t, Request{Tables: []Table{{Topology: top, Origin: c.origin, Elem: 4, Points: points}}})
			if math.Abs(float64(r.Launch-c.is.Launch)) > 0.3 || !near(r.Speed, c.is.Speed) {
				t.Errorf("found launch %v and speed %g, not %v and %g", r.Launch, r.Speed, c.is.Launch, c.is.Speed)
			}
			for _, k := range top.Kinds() {
				if !near(r.Links[k], c.is.Links[k]) {
					t.Errorf("found %v × %g, not %g", k, r.Links[k], c.is.Links[k])
				}
			}
			if e := r.AllErrors(); e.After.Median > 0.02 {
				t.Errorf("still off by %g", e.After.Median)
			}
			if c.is.IsZero() != r.IsZero() {
				t.Errorf("found %+v", r.Calibration)
			}
			if len(r.Met) > 0 {
				t.Errorf("met %+v", r.Met)
			}
		})
	}
}

// near reports whether two factors are; one that is left out is 1.
func near(a, b float64) bool {
	if a == 0 {
		a = 1
	}
	if b == 0 {
		b = 1
	}
	return math.Abs(a/b-1) < 0.03
}

// TestFitOfNoise: whatever the times are, the errors that are fitted do not grow, no link
// becomes faster than its kind is, and the answer does not depend on the jobs.
func TestFitOfNoise(t *testing.T) {
	top := resolve(t, "fullmesh:4")
	points := measuredOn(t, top, top, sizes...)
	for i := range points {
		points[i].MeasuredUS *= []float64{3, 0.4, 1, 2, 0.7}[i%5]
	}
	for _, origin := range Origins {
		tables, last := []Table{{Topology: top, Origin: origin, Elem: 4, Points: points}}, 0
		two := fit(t, Request{Tables: tables, Progress: func(done, of int) {
			if last++; done != last || done > of {
				t.Errorf("simulated %d times of %d, after %d", done, of, last-1)
			}
		}})
		one, err := Fit(t.Context(), Request{Tables: tables})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(one, two) {
			t.Errorf("%+v with one job, %+v with two", one, two)
		}
	}
}

// TestFitOfSeveral: of tables over one node and over two, which only together show
// both kinds of link, one fit finds what was changed, and says of each how far off it
// is. A table of few sizes weighs as much as one of many.
func TestFitOfSeveral(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for fits over several systems")
	}
	is := topologies.Calibration{Launch: 4, Links: map[topologies.LinkKind]float64{topologies.NVLink: 0.6, topologies.Net: 0.5}}
	var tables []Table
	for nodes, sizes := range [][]int64{sizes, {1 << 12, 1 << 20, 64 << 20, 256 << 20, 1 << 30}} {
		top, err := topologies.Resolve("dgx-1", topologies.Options{Nodes: nodes + 1})
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, Table{Topology: top, Origin: Library, Elem: 4, Points: measuredOn(t, top.Calibrated(is), top, sizes...)})
	}
	r := fit(t, Request{Tables: tables})
	if math.Abs(float64(r.Launch-is.Launch)) > 0.5 || !near(r.Links[topologies.NVLink], 0.6) || !near(r.Links[topologies.Net], 0.5) {
		t.Errorf("found %+v, not %+v", r.Calibration, is)
	}
	if len(r.Rows) != len(sizes)+5 || r.Rows[len(sizes)-1].Table != 0 || r.Rows[len(sizes)].Table != 1 {
		t.Errorf("rows %+v", r.Rows)
	}
	for i := range tables {
		if e := r.TableErrors(i); e.After.Median > 0.03 || e.Before.Median < e.After.Median {
			t.Errorf("table %d: off by %+v", i, e)
		}
	}
}

// TestLibraryAndPrograms: times of the library that runs something else than its model says
// change nothing that programs have told, whether the programs' times are there or only the
// file's sources tell of them.
func TestLibraryAndPrograms(t *testing.T) {
	top := resolve(t, "l40s-4")
	programs := measuredOn(t, top, top, sizes...)
	library := slices.Clone(programs)
	for i := range library { // as of an algorithm that takes half as long again
		library[i].MeasuredUS *= 1.5
	}
	alone := fit(t, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: library}}})
	if alone.Tried.IsZero() {
		t.Fatal("nothing in these times would change a constant")
	}
	settled := topologies.Settled{Launch: true, Links: top.Kinds()}
	for name, r := range map[string]Request{
		"settled": {Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: library}}, Settled: settled},
		"both":    {Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: library}, {Topology: top, Origin: Program, Elem: 4, Points: programs}}},
	} {
		if got := fit(t, r); !got.Tried.IsZero() {
			t.Errorf("%s: tried %+v", name, got.Tried)
		}
	}
	// Nor do they change what few programs do not tell.
	few := slices.Clone(programs[:4])
	for i := range few {
		few[i].MeasuredUS *= 1.05
	}
	only := fit(t, Request{Tables: []Table{{Topology: top, Origin: Program, Elem: 4, Points: few}}, Settled: settled})
	with := fit(t, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: library}, {Topology: top, Origin: Program, Elem: 4, Points: few}}, Settled: settled})
	if !reflect.DeepEqual(with.Tried, only.Tried) {
		t.Errorf("of few programs %+v, and with the library's times %+v", only.Tried, with.Tried)
	}
	// What both tell is taken, also from a file that settles it.
	slower := topologies.Calibration{Launch: 4}
	for i := range programs {
		programs[i].MeasuredUS += 4
		library[i] = programs[i]
	}
	got := fit(t, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: library}, {Topology: top, Origin: Program, Elem: 4, Points: programs}}, Settled: settled})
	if math.Abs(float64(got.Launch-slower.Launch)) > 0.3 {
		t.Errorf("found %+v, not %+v", got.Calibration, slower)
	}
}

// TestFitSpoilsNeither: whatever the library's times and the programs' are, a fit to both
// makes neither worse (fit holds it to that).
func TestFitSpoilsNeither(t *testing.T) {
	top := resolve(t, "fullmesh:4")
	was := measuredOn(t, top, top, sizes...)
	changed := 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		var tables []Table
		off := 1 + random.Float64() // what both show
		for _, origin := range Origins {
			points := slices.Clone(was)
			for i := range points {
				points[i].MeasuredUS *= off * math.Exp(0.2*random.NormFloat64())
			}
			tables = append(tables, Table{Topology: top, Origin: origin, Elem: 4, Points: points})
		}
		if got := fit(t, Request{Tables: tables}); !got.IsZero() {
			changed++
		}
	}
	if changed == 0 {
		t.Error("no fit changed anything")
	}
}

// TestJudgesRefuse: a fit that only the rows that it was made of confirm changes nothing.
func TestJudgesRefuse(t *testing.T) {
	top := resolve(t, "l40s-4")
	points := measuredOn(t, top, top, sizes...)
	for i := range points {
		if i%2 == 0 { // a single table's sizes go to either half in turn
			points[i].MeasuredUS += 8
		}
	}
	r := fit(t, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: points}}})
	if !slices.Equal(r.Worse(), []string{"the library"}) || !r.IsZero() || r.Tried.Launch < 7 {
		t.Errorf("worse: %v, took %+v of %+v", r.Worse(), r.Calibration, r.Tried)
	}
}

// TestBoundsAreNamed: times that only impossible constants would explain bring a constant
// to its bound, which is named.
func TestBoundsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name     string
		topology string
		origin   Origin
		measured func(p Point) float64
		met      string
		limit    string
	}{
		{"no launch", "l40s-4", Library, func(p Point) float64 { return math.Max(p.MeasuredUS-12, 1) }, launch, "at most 4.9 us shorter than in the file"},
		{"a launch of 200 us", "l40s-4", Library, func(p Point) float64 { return p.MeasuredUS + 200 }, launch, "at most 28.3 us longer than in the file"},
		{"wider links", "hub:4@20GB/s", Library, func(p Point) float64 { return p.MeasuredUS / (1 + min(float64(p.Bytes)/(16<<20), 1)) }, "nvlink", "at most 1 times as fast as in the file"},
		{"slow threadblocks", "l40s-4", Program, func(p Point) float64 { return p.MeasuredUS * 3 }, threadblocks, "at least 0.5 times as fast as in the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := resolve(t, c.topology)
			points := measuredOn(t, top, top, sizes...)
			for i := range points {
				points[i].MeasuredUS = c.measured(points[i])
			}
			r := fit(t, Request{Tables: []Table{{Topology: top, Origin: c.origin, Elem: 4, Points: points}}})
			i := slices.IndexFunc(r.Met, func(b Bound) bool { return b.Constant == c.met })
			if i < 0 {
				t.Fatalf("met %+v with %+v, not that of %s", r.Met, r.Tried, c.met)
			}
			if r.Met[i].Limit != c.limit || r.Met[i].Because == "" {
				t.Errorf("met %+v, not %s", r.Met[i], c.limit)
			}
		})
	}
}

// TestLaunchNeedsShortCalls: where a launch is a small part of every time, it is not
// fitted, whatever the times are.
func TestLaunchNeedsShortCalls(t *testing.T) {
	top := resolve(t, "l40s-4")
	points := measuredOn(t, top, top, 16<<20, 64<<20, 256<<20, 1<<30)
	for i := range points {
		points[i].MeasuredUS += 400
	}
	r := fit(t, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: points}}})
	if r.Tried.Launch != 0 || !slices.ContainsFunc(r.Left, func(l Left) bool { return l.Constant == launch }) {
		t.Errorf("fitted a launch of %v; left alone: %+v", r.Tried.Launch, r.Left)
	}
}

// TestLinksNeedLongCalls: the library's calls change a link's bandwidth only where their
// measured times grow as their sizes do.
func TestLinksNeedLongCalls(t *testing.T) {
	top := resolve(t, "l40s-4")
	points := measuredOn(t, top, top, 64<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20, 256<<20, 1<<30)
	for i := range points {
		points[i].MeasuredUS *= 1.5
	}
	is := func(tables ...Table) bool { return len(fit(t, Request{Tables: tables}).Tried.Links) > 0 }
	if !is(Table{Topology: top, Origin: Library, Elem: 4, Points: points}) {
		t.Error("long calls change no link")
	}
	for i := range points { // each step is half of what the bytes take, as of calls with much to start
		points[i].MeasuredUS = math.Sqrt(points[i].MeasuredUS) * 40
	}
	if is(Table{Topology: top, Origin: Library, Elem: 4, Points: points}) {
		t.Error("calls that do not take their time by bytes alone change a link")
	}
}

func TestFitNeedsTimes(t *testing.T) {
	if _, err := Fit(t.Context(), Request{Tables: []Table{{Topology: resolve(t, "fullmesh:4"), Origin: Library, Elem: 4, Points: make([]Point, 3)}}}); err == nil {
		t.Error("fitted to three times")
	}
}

// A fit that is interrupted says so, whatever is being simulated.
func TestFitInterrupted(t *testing.T) {
	top := resolve(t, "fullmesh:4")
	points := measuredOn(t, top, top, 1<<10, 4<<10, 1<<20, 4<<20)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Fit(ctx, Request{Tables: []Table{{Topology: top, Origin: Library, Elem: 4, Points: points}}, Jobs: 2, Progress: func(done, _ int) {
		if done == 2 {
			cancel()
		} else if done > 3 {
			t.Error("simulated on")
		}
	}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want %v", err, context.Canceled)
	}
}
