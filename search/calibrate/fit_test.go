package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"reflect"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

// measuredOn is what the simulator takes on a system for the calls that the library
// would choose on another.
func measuredOn(t *testing.T, system, other *topologies.Topology, sizes ...int64) (points []Point) {
	t.Helper()
	calls, err := search.LibraryCalls(t.Context(), search.Problem{Topology: other, Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: sizes}, search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(calls) != len(sizes) {
		t.Fatalf("%d calls of %d", len(calls), len(sizes))
	}
	for i, c := range calls {
		r, err := sim.Run(c.Program, system, sim.Knobs{Bytes: c.Bytes, Protocol: c.Protocol})
		if err != nil || c.Bytes != sizes[i] {
			t.Fatal(c.Bytes, err)
		}
		points = append(points, Point{c, r.TimeUS})
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

var sizes = []int64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20}

// TestFitFindsWhatWasChanged: of times that the simulator takes with other numbers
// it finds these numbers.
func TestFitFindsWhatWasChanged(t *testing.T) {
	for _, c := range []struct {
		name, topology string
		is             topologies.Calibration
		slow           bool // left to make test-long
	}{
		{"nothing", "l40s-4", topologies.Calibration{}, false},
		{"launch", "l40s-4", topologies.Calibration{Launch: 6.3}, true},
		{"less launch", "l40s-4", topologies.Calibration{Launch: -2.5}, true},
		{"links", "dgx-1", topologies.Calibration{Launch: 3, Links: map[topologies.LinkKind]float64{topologies.NVLink: 0.6}}, false},
		{"threadblocks", "dgx-1", topologies.Calibration{Launch: 3, Speed: 0.7}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow && os.Getenv("COLLTUNE_LONG") == "" {
				t.Skip("set COLLTUNE_LONG for this fit")
			}
			top := resolve(t, c.topology)
			points := measuredOn(t, top.Calibrated(c.is), top, sizes...)
			r, err := Fit(t.Context(), []Table{{top, points}}, 4, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(float64(r.Launch-c.is.Launch)) > 0.3 || !near(r.Speed, c.is.Speed) {
				t.Errorf("found launch %v and speed %g, not %v and %g", r.Launch, r.Speed, c.is.Launch, c.is.Speed)
			}
			for _, k := range top.Kinds() {
				if !near(r.Links[k], c.is.Links[k]) {
					t.Errorf("found %v × %g, not %g", k, r.Links[k], c.is.Links[k])
				}
			}
			if _, after := r.Off(); after > 0.02 {
				t.Errorf("still off by %g", after)
			}
			if c.is.IsZero() != r.IsZero() {
				t.Errorf("found %+v", r.Calibration)
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

// TestFitOfNoise: whatever the times are, the errors do not grow, no link becomes
// faster, and the answer does not depend on the jobs.
func TestFitOfNoise(t *testing.T) {
	top := resolve(t, "fullmesh:4")
	points := measuredOn(t, top, top, sizes...)
	for i := range points {
		points[i].MeasuredUS *= []float64{3, 0.4, 1, 2, 0.7}[i%5]
	}
	last := 0
	one, err := Fit(t.Context(), []Table{{top, points}}, 4, 1, func(done, of int) {
		if last++; done != last || done > of {
			t.Errorf("simulated %d times of %d, after %d", done, of, last-1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	four, err := Fit(t.Context(), []Table{{top, points}}, 4, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one.Calibration, four.Calibration) {
		t.Errorf("%+v with one job, %+v with four", one.Calibration, four.Calibration)
	}
	before, after := 0.0, 0.0
	for i, r := range one.Rows {
		before += math.Abs(math.Log(r.BeforeUS / r.MeasuredUS))
		after += math.Abs(math.Log(r.AfterUS / r.MeasuredUS))
		if r != four.Rows[i] {
			t.Errorf("row %+v, with four jobs %+v", r, four.Rows[i])
		}
	}
	if after > before*(1+1e-9) {
		t.Errorf("errors of %g before, of %g after", before, after)
	}
	for k, times := range one.Links {
		if times > 1 {
			t.Errorf("%v × %g", k, times)
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
	for nodes, sizes := range [][]int64{sizes, {1 << 12, 64 << 20, 1 << 30}} {
		top, err := topologies.Resolve("dgx-1", topologies.Options{Nodes: nodes + 1})
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, Table{top, measuredOn(t, top.Calibrated(is), top, sizes...)})
	}
	r, err := Fit(t.Context(), tables, 4, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(r.Launch-is.Launch)) > 0.5 || !near(r.Links[topologies.NVLink], 0.6) || !near(r.Links[topologies.Net], 0.5) {
		t.Errorf("found %+v, not %+v", r.Calibration, is)
	}
	if len(r.Rows) != len(sizes)+3 || r.Rows[len(sizes)-1].Table != 0 || r.Rows[len(sizes)].Table != 1 {
		t.Errorf("rows %+v", r.Rows)
	}
	for i := range tables {
		if before, after := r.OffTable(i); after > 0.03 || before < after {
			t.Errorf("table %d: off by %g, then %g", i, before, after)
		}
	}
}

func TestFitNeedsTimes(t *testing.T) {
	if _, err := Fit(context.Background(), []Table{{resolve(t, "fullmesh:4"), make([]Point, 1)}}, 4, 1, nil); err == nil {
		t.Error("fitted to one time")
	}
}

// A fit that is interrupted says so, whatever is being simulated.
func TestFitInterrupted(t *testing.T) {
	top := resolve(t, "fullmesh:4")
	points := measuredOn(t, top, top, 1<<10, 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Fit(ctx, []Table{{top, points}}, 4, 2, func(done, _ int) {
		if done == 2 {
			cancel()
		} else if done > 3 {
			t.Error("simulated on")
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want %v", err, context.Canceled)
	}
}

func TestOffIsTheMedian(t *testing.T) {
	var r Result
	for _, off := range []float64{0.1, 0.4, -0.2, 0.9} {
		r.Rows = append(r.Rows, Row{Point: Point{MeasuredUS: 10}, BeforeUS: 10 * (1 + off), AfterUS: 10})
	}
	if before, after := r.Off(); math.Abs(before-0.3) > 1e-9 || after != 0 {
		t.Errorf("off by %v, then %v: want 0.3 and 0", before, after)
	}
	r.Rows = r.Rows[:3]
	if before, _ := r.Off(); math.Abs(before-0.2) > 1e-9 {
		t.Errorf("off by %v: want 0.2", before)
	}
}
