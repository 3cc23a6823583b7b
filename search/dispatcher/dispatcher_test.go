package dispatcher

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// dispatcherOf has rows on the numbers of nodes, of 1K and 4K in and of 1K out of place.
func dispatcherOf(t testing.TB, counts ...int) *Dispatcher {
	t.Helper()
	d := &Dispatcher{simulated: true, rows: map[int][]Row{}, campaigns: []*results.Campaign{resultstest.Library(t)}}
	for _, n := range counts {
		d.rows[n] = []Row{
			{Nodes: n, Bytes: 1024, Placement: "in"}, {Nodes: n, Bytes: 4096, Placement: "in"}, {Nodes: n, Bytes: 1024, Placement: "out"},
		}
	}
	return d
}

// A call has the row of the nearest number of nodes in ratio, and of the next smaller size.
func TestChoose(t *testing.T) {
	d := dispatcherOf(t, 1, 4, 16)
	for _, tc := range []struct {
		nodes     int
		bytes     int64
		placement string
		wantNodes int
		wantBytes int64
	}{
		{1, 1024, "in", 1, 1024}, {2, 1024, "in", 1, 1024}, {3, 1024, "in", 4, 1024}, {4, 4095, "in", 4, 1024}, {4, 4096, "in", 4, 4096},
		{8, 4096, "in", 4, 4096}, {9, 4096, "in", 16, 4096}, {16, 1 << 40, "in", 16, 4096}, {1000, 1, "in", 16, 1024}, {5, 4096, "out", 4, 1024},
	} {
		got, ok := d.Choose(tc.nodes, tc.bytes, tc.placement)
		if !ok || got.Nodes != tc.wantNodes || got.Bytes != tc.wantBytes || got.Placement != tc.placement {
			t.Errorf("%d nodes, %d bytes, %s: %d nodes, %d bytes, %s, %v; want %d and %d", tc.nodes, tc.bytes, tc.placement, got.Nodes, got.Bytes, got.Placement, ok, tc.wantNodes, tc.wantBytes)
		}
	}
	if _, ok := dispatcherOf(t).Choose(1, 1, "in"); ok {
		t.Error("a row of nothing")
	}
}

// Of a file's rules exactly one is for a call, and it has the row that Choose returns; up to
// the last size that a program serves that is no rule of the library's.
func TestRulesAreChoose(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := dispatcherOf(t, rapid.SliceOfNDistinct(rapid.IntRange(1, 300), 1, 6, rapid.ID[int]).Draw(rt, "counts")...)
		served := rapid.Int64Range(0, 5000).Draw(rt, "served")
		f := d.Document(nil, func(r *Row) Program { return Program{"f", r.Bytes + served} })
		nodes, bytes, placement := rapid.IntRange(1, 600).Draw(rt, "nodes"), rapid.Int64Range(0, 8192).Draw(rt, "bytes"), rapid.SampledFrom([]string{"in", "out"}).Draw(rt, "placement")
		want, _ := d.Choose(nodes, bytes, placement)
		n := 0
		for _, r := range f.Rules {
			if nodes >= r.MinNodes && (r.MaxNodes == 0 || nodes <= r.MaxNodes) && bytes >= r.MinBytes && (r.MaxBytes == 0 || bytes <= r.MaxBytes) && r.Placement == placement {
				program := bytes >= want.Bytes && bytes <= want.Bytes+served && bytes <= map[string]int64{"in": 4096, "out": 1024}[placement]
				if r.Library == program || (r.File != "") != program {
					rt.Errorf("%d nodes, %d bytes: library %t, file %q", nodes, bytes, r.Library, r.File)
				}
				if n++; r.Nodes != want.Nodes || r.Bytes != want.Bytes {
					rt.Errorf("%d nodes, %d bytes: %d and %d, want %d and %d", nodes, bytes, r.Nodes, r.Bytes, want.Nodes, want.Bytes)
				}
			}
		}
		if n != 1 {
			rt.Errorf("%d nodes, %d bytes: %d rules, want one", nodes, bytes, n)
		}
	})
}

// The middle is the geometric mean, and as near to one side as to the other in whole numbers.
func TestLastNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.IntRange(1, 1<<20).Draw(t, "low")
		high := rapid.IntRange(low, 1<<20).Draw(t, "high")
		if n := lastNearest(low, high); n*n > low*high || (n+1)*(n+1) <= low*high {
			t.Errorf("%d and %d: %d", low, high, n)
		}
	})
}

// A dispatcher needs two numbers of nodes with times.
func TestNewOfTooLittle(t *testing.T) {
	one := resultstest.Library(t)
	plan := resultstest.Plan()
	plan.Topology.Nodes = 4
	empty := resultstest.Create(t, plan)
	for _, tc := range []struct {
		campaigns []*results.Campaign
		want      string
	}{
		{[]*results.Campaign{one}, "several numbers of nodes"},
		{[]*results.Campaign{one, empty}, "nothing measured yet"},
	} {
		if _, err := New(tc.campaigns); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v; want %q", err, tc.want)
		}
	}
}

// Regret is the geometric mean over the points that are judged.
func TestRegret(t *testing.T) {
	points := []Judged{{Nodes: 2, Bytes: 1024, Chosen: "a", ChosenUS: 20, BestUS: 10}, {Nodes: 4, Bytes: 1024, Chosen: "b", ChosenUS: 10, BestUS: 20}, {Nodes: 8, BestUS: 1}, {Nodes: 16, Bytes: 4096, ChosenUS: 8, BestUS: 1}}
	g := regretOf(points)
	if math.Abs(g.Geomean-2) > 1e-12 || g.Worst != 8 || g.Unjudged != 1 {
		t.Errorf("%+v; want 2, 8, and one not judged", g)
	}
	if got, want := regretOf(points[:3]).String(), "1.000 in the geometric mean of 2 points, at worst 2.00 (1K on 2 nodes: a); 1 could not be judged"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if got, want := regretOf(points[2:3]).String(), "no point could be judged, of 1"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// What is chosen is the best of the routings kept, or the library where that is faster; of a
// library's choice its own time counts.
func TestBestOf(t *testing.T) {
	fast, slow := recipe{"a", "a", 1, "LL", 1}, recipe{"b", "b", 1, "LL", 1}
	measured := map[recipe]float64{fast: 10, slow: 20}
	library := 5.0
	with, without := &Row{BaselineTimeUS: &library}, &Row{}
	for _, tc := range []struct {
		kept  map[string]bool
		there *Row
		want  float64
	}{
		{map[string]bool{"a": true, "b": true}, without, 10}, {map[string]bool{"b": true}, without, 20}, {map[string]bool{"b": true}, with, 5}, {map[string]bool{"c": true}, with, 0},
	} {
		if _, us := bestOf(tc.kept, measured, tc.there); us != tc.want {
			t.Errorf("%v: %g, want %g", tc.kept, us, tc.want)
		}
	}
	if us := timeOf(&Row{Library: true}, measured, with); us != 5 {
		t.Errorf("the library takes %g, want 5", us)
	}
	if us := timeOf(&Row{Library: true}, measured, without) + timeOf(&Row{recipe: recipe{family: "c"}}, measured, with); us != 0 {
		t.Errorf("%g, want 0 for what is not known", us)
	}
}
