package accuracy

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"pgregory.net/rapid"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/results/intervals"
)

func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

// repository reads the repository's manifest and rows.
func repository(t *testing.T) (*Manifest, []Row) {
	t.Helper()
	name := filepath.Join("testdata", "manifest.toml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseManifest(name, string(text))
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join("testdata", "measured.csv")
	if text, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadRows(name, bytes.NewReader(text), &Set{})
	if err != nil {
		t.Fatal(err)
	}
	return m, rows
}

// number matches a figure in a text.
var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// differsIn returns the first line in which two texts differ by more than the last digit
// of a figure, which is another processor's affair; empty if they are alike.
func differsIn(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			return "as many lines"
		}
		x, y := number.FindAllString(a[i], -1), number.FindAllString(b[i], -1)
		alike := number.ReplaceAllString(a[i], "#") == number.ReplaceAllString(b[i], "#") && len(x) == len(y)
		for j := 0; alike && j < len(x); j++ {
			u, _ := strconv.ParseFloat(x[j], 64)
			v, _ := strconv.ParseFloat(y[j], 64)
			alike = math.Abs(u-v) <= max(0.011, 0.011*math.Abs(u)) || !strings.Contains(x[j], ".") && math.Abs(u-v) <= 1
		}
		if !alike {
			return a[i]
		}
	}
	return ""
}

// TestAsShipped holds the shipped intervals, and the page, to what the repository's rows
// give now.
func TestAsShipped(t *testing.T) {
	m, rows := repository(t)
	compared, unused, err := Compare(t.Context(), m, rows, runtime.NumCPU())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range unused {
		t.Errorf("%+v is kept and not used: %s", u.Row, u.Why)
	}
	table := Estimate(Residuals(compared))
	var got, want bytes.Buffer
	if err := table.Write(&got); err != nil {
		t.Fatal(err)
	}
	if err := intervals.Shipped().Write(&want); err != nil {
		t.Fatal(err)
	}
	if line := differsIn(got.String(), want.String()); line != "" {
		t.Errorf("results/intervals/zones.csv says otherwise than %s: make accuracy UPDATE=1 writes it", line)
	}
	for _, line := range Unheld(compared, intervals.Shipped()) {
		t.Error(line)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "simulator-errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), PageBegin)
	page, _, _ = strings.Cut(page, PageEnd)
	if line := differsIn(Page(m, compared), page); line != "" {
		t.Errorf("docs/reference/simulator-errors.md says otherwise than %s: make accuracy UPDATE=1 writes it", line)
	}
}

// The sets of libraries were measured at each power of two: none is left out.
func TestEverySize(t *testing.T) {
	_, rows := repository(t)
	type curve struct {
		set, collective, version string
		gpus                     int
	}
	sizes := map[curve][]int64{}
	for _, r := range rows {
		if strings.HasPrefix(r.Set, "libraries/") {
			c := curve{r.Set, r.Collective, r.Version, r.GPUs}
			sizes[c] = append(sizes[c], r.Bytes)
		}
	}
	for c, of := range sizes {
		for i, n := range of[1:] {
			if n != 2*of[i] {
				t.Errorf("%v: %d bytes follow %d", c, n, of[i])
			}
		}
	}
	if len(sizes) == 0 {
		t.Error("no set of libraries")
	}
}

// A table that was estimated without a size does not hold what is measured there.
func TestUnheld(t *testing.T) {
	var all, without []Compared
	for _, set := range []string{"a", "b", "c", "d"} {
		for gpus := 2; gpus <= 6; gpus++ {
			for size := int64(1 << 20); size < 16<<20; size *= 2 {
				c := Compared{
					Row:         Row{Set: set, Collective: "alltoall", Nodes: 1, GPUs: gpus, Bytes: size, TimeUS: float64(8 + gpus)},
					SimulatedUS: 10, Name: "direct ×4 LL", System: intervals.System{Kind: "NVLink", Network: "none"},
				}
				if size != 2<<20 {
					without = append(without, c)
				} else {
					c.TimeUS /= 2
				}
				all = append(all, c)
			}
		}
	}
	if lines := Unheld(all, Estimate(Residuals(all))); len(lines) > 0 {
		t.Errorf("with the size: %q", lines)
	}
	want := []string{
		"library, NVLink, one node, alltoall, 1M to 16M at 2M: 0 % of 20 rows inside",
		"library, NVLink, one node, alltoall, 1M to 16M: 75 % of 80 rows inside",
	}
	if lines := Unheld(all, Estimate(Residuals(without))); !slices.Equal(lines, want) {
		t.Errorf("without it: %q, want %q", lines, want)
	}
}

// TestLeaderboard holds each time that MSCCL's leaderboard gives for an NDv4 machine to the
// interval of our programs of its kinds (github.com/microsoft/msccl-leaderboard,
// data/1xNDv4/Allreduce-inplace/msccl.txt: bytes, us).
func TestLeaderboard(t *testing.T) {
	m, _ := repository(t)
	var rows []Row
	for i, us := range []float64{
		15.06, 15.64, 16.30, 16.18, 16.40, 17.41, 17.44, 17.73, 18.57, 19.91, // from 128 B
		21.43, 25.33, 32.16, 38.08, 57.55, 81.79, 126.8, 215.0, 378.4, // to 32 MiB
	} {
		rows = append(rows, Row{"msccl_leaderboard_1xndv4_allreduce", "allreduce", 1, 8, true, "f32", "msccl:leaderboard", "msccl", 128 << i, us, ""})
	}
	compared, unused, err := Compare(t.Context(), m, rows, runtime.NumCPU())
	if err != nil || len(unused) > 0 {
		t.Fatalf("%v, not used: %v", err, unused)
	}
	for _, v := range Judge(compared, intervals.Shipped()) {
		if !v.Inside {
			t.Errorf("%d bytes: measured %.1f us, simulated %.1f of %s, interval %.2f to %.2f", v.Bytes, v.TimeUS, v.SimulatedUS, v.Name, v.Zone.Low, v.Zone.High)
		}
	}
}

// TestLeaveOutMachines: data sets of one machine do not judge one another.
func TestLeaveOutMachines(t *testing.T) {
	m := &Manifest{Sets: []Set{{Name: "a", Machine: "one"}, {Name: "b", Machine: "one"}, {Name: "c", Machine: "two"}, {Name: "d", Machine: "three"}}}
	var all []Compared
	for _, row := range []struct {
		set string
		us  float64
	}{{"a", 20}, {"b", 20}, {"c", 10}, {"d", 10}} {
		all = append(all, Compared{
			Row:         Row{Set: row.set, Collective: "allreduce", Nodes: 1, GPUs: 8, Bytes: 1024, TimeUS: row.us},
			SimulatedUS: 10, Name: "ring ×2 LL", System: intervals.System{Kind: "NVLink", Network: "none"},
		})
	}
	for _, v := range LeaveOut(all) {
		if !v.Inside || v.Zone.Sets != 3 {
			t.Errorf("%s without its set: inside %t of %d sets, want inside of 3", v.Set, v.Inside, v.Zone.Sets)
		}
	}
	for i, v := range LeaveOutMachines(m, all) {
		if inside, sets := i >= 2, []int{2, 2, 3, 3}[i]; v.Inside != inside || v.Zone.Sets != sets {
			t.Errorf("%s without its machine: inside %t of %d sets, want %t of %d", v.Set, v.Inside, v.Zone.Sets, inside, sets)
		}
	}
}

// An algorithm that no other data set measured has no interval, though its zone has one.
func TestLeaveOutAlgorithm(t *testing.T) {
	var all []Compared
	for _, set := range []string{"a", "b", "c", "d"} {
		name := "ring ×2 LL"
		if set == "d" {
			name = "nvls Simple"
		}
		all = append(all, Compared{
			Row:         Row{Set: set, Collective: "allreduce", Nodes: 1, GPUs: 8, Bytes: 1024, TimeUS: 10},
			SimulatedUS: 10, Name: name, System: intervals.System{Kind: "NVLink", Network: "none"},
		})
	}
	for _, v := range LeaveOut(all) {
		if v.Supported() != (v.Set != "d") {
			t.Errorf("%s, %s: supported %t", v.Set, v.Name, v.Supported())
		}
	}
}

func TestCompareStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, rows := repository(t)
	if _, _, err := Compare(ctx, m, rows, 2); err == nil {
		t.Error("no error of a context that is done")
	}
}

// residuals are rows of some sets in one zone.
func residuals(sets ...[]float64) (all []Residual) {
	zones := intervals.System{Kind: "NVLink", Network: "none"}.Zones(intervals.Library, "allreduce", 1024)
	for i, logs := range sets {
		for _, l := range logs {
			all = append(all, Residual{Set: string(rune('a' + i)), Log: l, Kind: "ring", Zones: zones})
		}
	}
	return all
}

func TestEstimate(t *testing.T) {
	if three := Estimate(residuals([]float64{0}, []float64{1}, []float64{2})); len(three.Entries) != 0 {
		t.Errorf("%v: want no zone of three data sets", three.Entries)
	}
	all := residuals([]float64{-0.1}, []float64{0}, []float64{0.1}, []float64{0.4})
	e, wider, ok := Estimate(all).At(all[0].Zones)
	want := intervals.Interval{Low: math.Exp(-0.1 - 0.15*0.5), Median: math.Exp(0.05), High: math.Exp(0.4 + 0.15*0.5)}
	if !ok || wider != 0 || e.Sets != 4 || e.Rows != 4 || math.Abs(e.Low-want.Low)+math.Abs(e.High-want.High)+math.Abs(e.Median-want.Median) > 1e-12 {
		t.Errorf("%+v: want %v", e, want)
	}
	// Without one set, three say where the fourth may lie.
	e, _, ok = EstimateWithout(all, func(set string) bool { return set == "d" }).At(all[0].Zones)
	if !ok || e.Sets != 3 || e.Rows != 3 || math.Abs(math.Log(e.High)-(0.1+0.15*0.2)) > 1e-12 {
		t.Errorf("%+v: want the three sets that are left", e)
	}
	if none := EstimateWithout(all, func(string) bool { return true }); len(none.Entries) != 0 || none.Measured(all[0].Zones[0], "ring") {
		t.Errorf("%v: want no zone without any set, and nothing measured", none)
	}
	if _, _, ok := Estimate(all).At(intervals.System{Kind: "PCIe", Network: "none"}.Zones(intervals.Program, "allreduce", 1024)); ok {
		t.Error("a program has the library's interval")
	}
	if e, wider, ok := Estimate(all).At(intervals.System{Kind: "PCIe", Network: "none"}.Zones(intervals.Library, "alltoall", 1024)); !ok || wider != 1 || e.System != intervals.Any {
		t.Errorf("%v %d %t: want the zone of any system and collective", e, wider, ok)
	}
	over := intervals.System{Kind: "NVLink", Network: "infiniband"}.Zones(intervals.Library, "allreduce", 1024)[0]
	if table := Estimate(all); !table.Measured(all[0].Zones[0], "ring") || table.Measured(all[0].Zones[0], "nvls") || table.Measured(over, "ring") {
		t.Errorf("%v: want rings on one node alone", table.Kinds)
	}
}

// Intervals hold their median, do not depend on the order of rows, and are at most 1.3
// times as wide as from the 5th to the 95th percentile; all residuals scaled scale them.
func TestEstimateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Steps that add without rounding, so that equal ones stay equal.
		log := rapid.Map(rapid.IntRange(-192, 192), func(n int) float64 { return float64(n) / 64 })
		logs := rapid.SliceOfN(rapid.SliceOfN(log, 1, 20), 4, 6).Draw(t, "sets")
		all := residuals(logs...)
		table := Estimate(all)
		for _, e := range table.Entries {
			sets := map[string][]float64{}
			for i, of := range logs {
				sets[string(rune('a'+i))] = of
			}
			low, _, high := spread(sets)
			if !(e.Low <= e.Median && e.Median <= e.High) || math.Log(e.High/e.Low) > 1.3*(high-low)+1e-9 {
				t.Fatalf("%+v of %v, which ask %g", e, logs, high-low)
			}
		}
		turned := slices.Clone(all)
		slices.Reverse(turned)
		moved := slices.Clone(all)
		for i := range moved {
			moved[i].Log += 0.5
		}
		other, shifted := Estimate(turned), Estimate(moved)
		for i, e := range table.Entries {
			if other.Entries[i] != e {
				t.Fatalf("%v in another order: %v", e, other.Entries[i])
			}
			if got := shifted.Entries[i].High / e.High; math.Abs(got-math.Exp(0.5)) > 1e-9 {
				t.Fatalf("times half an e-fold longer: interval moves by %g", got)
			}
		}
	})
}

// A set with many rows counts no more than one with few.
func TestSetsWeighTheSame(t *testing.T) {
	many := make([]float64, 100)
	for i := range many {
		many[i] = 0.01 * float64(i%5)
	}
	e, _, _ := Estimate(residuals(many, []float64{1}, []float64{1}, []float64{1})).At(residuals(many)[0].Zones)
	if math.Abs(math.Log(e.Median)-1) > 1e-9 {
		t.Errorf("median %g: want that of three sets of four", e.Median)
	}
}
