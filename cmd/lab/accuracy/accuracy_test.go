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
	study := NewStudy(compared)
	table := study.Table()
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
	if line := differsIn(Page(m, study), page); line != "" {
		t.Errorf("docs/reference/simulator-errors.md says otherwise than %s: make accuracy UPDATE=1 writes it", line)
	}
}

// The sets of libraries were measured at each power of two: none is left out.
func TestEverySize(t *testing.T) {
	_, rows := repository(t)
	type curve struct {
		set, collective, version string
		gpus                     int
		inPlace                  bool
	}
	sizes := map[curve][]int64{}
	for _, r := range rows {
		if strings.HasPrefix(r.Set, "libraries/") {
			c := curve{r.Set, r.Collective, r.Version, r.GPUs, r.InPlace}
			sizes[c] = append(sizes[c], r.Bytes)
		}
	}
	for c, of := range sizes {
		slices.Sort(of)
		of = slices.Compact(of)
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

// rowOf is a compared row of a machine on one node of NVLink, whose simulated time is 10 us.
func rowOf(machine, collective string, bytes int64, us float64) Compared {
	return Compared{
		Row:         Row{Set: machine, Collective: collective, Nodes: 1, GPUs: 8, Bytes: bytes, TimeUS: us},
		SimulatedUS: 10, Name: "ring ×2 LL", Machine: machine,
		System: intervals.System{Link: "NVLink", Network: "none", Arch: "hopper", Constants: "hopper"},
		Call:   intervals.Call{Clock: intervals.Instructions, Protocol: "LL", Collective: collective, Bytes: bytes},
	}
}

// A table that was estimated without a size does not hold what is measured there.
func TestUnheld(t *testing.T) {
	var all, without []Compared
	for _, machine := range []string{"a", "b", "c", "d"} {
		for gpus := 2; gpus <= 6; gpus++ {
			for size := int64(1 << 20); size < 16<<20; size *= 2 {
				c := rowOf(machine, "alltoall", size, float64(8+gpus))
				if size != 2<<20 {
					without = append(without, c)
				} else {
					c.TimeUS /= 2
				}
				all = append(all, c)
			}
		}
	}
	if lines := Unheld(all, NewStudy(all).Table()); len(lines) > 0 {
		t.Errorf("with the size: %q", lines)
	}
	want := []string{
		"NVLink, one node, hopper, LL, alltoall, 1M to 16M at 2M: 0 % of 20 rows inside",
		"NVLink, one node, hopper, LL, alltoall, 1M to 16M: 75 % of 80 rows inside",
	}
	if lines := Unheld(all, NewStudy(without).Table()); !slices.Equal(lines, want) {
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
	supported := 0
	for _, v := range Judge(compared, intervals.Shipped()) {
		if v.Supported() {
			supported++
		}
		if v.Supported() && !v.Inside {
			t.Errorf("%d bytes: measured %.1f us, simulated %.1f of %s, interval %.2f to %.2f", v.Bytes, v.TimeUS, v.SimulatedUS, v.Name, v.Interval.Low, v.Interval.High)
		}
	}
	if supported < len(rows)*9/10 {
		t.Errorf("%d of %d rows have an interval", supported, len(rows))
	}
}

// TestLeaveOut: data sets of one machine do not judge one another.
func TestLeaveOut(t *testing.T) {
	var all []Compared
	for _, row := range []struct {
		set, machine string
		us           float64
	}{{"a", "one", 20}, {"b", "one", 20}, {"c", "two", 10}, {"d", "three", 10}} {
		c := rowOf(row.machine, "allreduce", 1024, row.us)
		c.Set = row.set
		all = append(all, c)
	}
	for i, v := range NewStudy(all).LeaveOut() {
		if inside, machines := i >= 2, []int{2, 2, 2, 2}[i]; v.Inside != inside || v.Zone.Machines != machines {
			t.Errorf("%s without its machine: inside %t of %d machines, want %t of %d", v.Set, v.Inside, v.Zone.Machines, inside, machines)
		}
	}
}

// What no other machine measured has no interval: a closed form, or the network.
func TestLeaveOutClock(t *testing.T) {
	var all []Compared
	for _, machine := range []string{"a", "b", "c", "d"} {
		c := rowOf(machine, "allreduce", 1024, 10)
		if machine == "d" {
			c.Call.Clock = "nvls"
		}
		all = append(all, c)
	}
	for _, v := range NewStudy(all).LeaveOut() {
		if v.Supported() != (v.Set != "d") {
			t.Errorf("%s: supported %t", v.Set, v.Supported())
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

// rowsOf are rows of some machines in one zone, by the logarithm of measured ÷ simulated.
func rowsOf(machines ...[]float64) (all []Compared) {
	for i, logs := range machines {
		for _, l := range logs {
			all = append(all, rowOf(string(rune('a'+i)), "allreduce", 1024, 10*math.Exp(l)))
		}
	}
	return all
}

// near reports whether two ratios are the same but for rounding.
func near(a, b float64) bool { return math.Abs(math.Log(a/b)) < 1e-9 }

// The next machine is as one of those that measured a zone, or as any that measured the next wider.
func TestEstimate(t *testing.T) {
	hopper := rowOf("a", "allreduce", 1024, 20)
	ampere := rowOf("b", "allreduce", 1024, 10)
	ampere.System.Arch = "ampere"
	e := estimate([]Compared{hopper, ampere}, "")
	zones := hopper.System.Zones(hopper.Call)
	own, _, ok := e.At(zones)
	if !ok || own.Zone != zones[0] || own.Machines != 1 || own.Rows != 1 || !near(own.Low, 1) || !near(own.High, 2) || !near(own.Median, 2) {
		t.Errorf("%+v: want 1 to 2, the median as its own machine's", own)
	}
	other := hopper
	other.System.Arch = "blackwell"
	if e, wider, ok := e.At(other.System.Zones(other.Call)); !ok || wider != 1 || e.Arch != intervals.Any || e.Machines != 2 {
		t.Errorf("%+v %d %t: want the zone of any generation", e, wider, ok)
	}
	guessed := ampere
	guessed.Guessed, guessed.TimeUS = true, 100
	if e, _, ok := estimate([]Compared{hopper, guessed}, "").At(zones); !ok || !near(e.High, 2) {
		t.Errorf("%+v: another generation's constants tell of it", e)
	}
	if none := estimate([]Compared{hopper}, "a"); len(none.Entries) != 0 || len(none.Constants) != 1 {
		t.Errorf("%v: want no zone without any machine, whose constants are known", none)
	}
}

// Intervals are as wide as it takes to hold rows of a machine that is left out.
func TestWidths(t *testing.T) {
	same := rowsOf([]float64{-0.1, 0, 0.1}, []float64{-0.1, 0, 0.1}, []float64{-0.1, 0, 0.1})
	apart := rowsOf([]float64{-0.1, 0, 0.1}, []float64{-0.1, 0, 0.1}, []float64{-0.1, 0, 0.12})
	if a, b := NewStudy(same).all, NewStudy(apart).all; a < 1 || b < a {
		t.Errorf("%g, and %g where machines differ", a, b)
	}
}

// Intervals hold their median, do not depend on the order of rows, and are moved as all
// residuals are.
func TestEstimateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Steps that add without rounding, so that equal ones stay equal.
		log := rapid.Map(rapid.IntRange(-192, 192), func(n int) float64 { return float64(n) / 64 })
		logs := rapid.SliceOfN(rapid.SliceOfN(log, 1, 20), 2, 6).Draw(t, "machines")
		all := rowsOf(logs...)
		table := estimate(all, "")
		for _, e := range table.Entries {
			if !(e.Low <= e.Median && e.Median <= e.High) || e.Machines != len(logs) {
				t.Fatalf("%+v of %v", e, logs)
			}
		}
		turned := slices.Clone(all)
		slices.Reverse(turned)
		moved := slices.Clone(all)
		for i := range moved {
			moved[i].TimeUS *= 2
		}
		other, shifted := estimate(turned, ""), estimate(moved, "")
		for i, e := range table.Entries {
			if !near(other.Entries[i].High, e.High) || !near(other.Entries[i].Low, e.Low) {
				t.Fatalf("%v in another order: %v", e, other.Entries[i])
			}
			if !near(shifted.Entries[i].High, 2*e.High) {
				t.Fatalf("twice as long: %v to %v", e, shifted.Entries[i])
			}
		}
	})
}

// A machine with many rows counts no more than one with few.
func TestMachinesWeighTheSame(t *testing.T) {
	many := make([]float64, 100)
	for i := range many {
		many[i] = 0.01 * float64(i%5)
	}
	all := rowsOf(many, []float64{1}, []float64{1}, []float64{1})
	e, _, _ := estimate(all, "").At(all[0].System.Zones(all[0].Call))
	if math.Abs(math.Log(e.Median)-1) > 1e-9 {
		t.Errorf("median %g: want that of three machines of four", e.Median)
	}
}
