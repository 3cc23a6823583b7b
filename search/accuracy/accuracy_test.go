package accuracy

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
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
	residuals := Residuals(compared)
	table := intervals.Estimate(residuals, "")
	for _, e := range table.Entries { // no interval is more than 1.3 times as wide as what its residuals ask
		var logs []float64
		for _, r := range residuals {
			if slices.Contains(r.Zones, e.Zone) {
				logs = append(logs, r.Log)
			}
		}
		slices.Sort(logs)
		asked := intervals.Percentile(logs, 0.95) - intervals.Percentile(logs, 0.05)
		if width := math.Log(e.High / e.Low); width > 1.3*asked+1e-9 {
			t.Errorf("%s is %.3f wide, its residuals ask %.3f", e.Zone, width, asked)
		}
	}
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
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), PageBegin)
	page, _, _ = strings.Cut(page, PageEnd)
	if line := differsIn(Page(m, table, Judge(compared, nil)), page); line != "" {
		t.Errorf("docs/simulator.md says otherwise than %s: make accuracy UPDATE=1 writes it", line)
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
