package accuracy

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
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
	table := intervals.Estimate(Residuals(compared))
	leaderboard(t, Judge(compared, intervals.Shipped()))
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
	if line := differsIn(Page(m, compared), page); line != "" {
		t.Errorf("docs/simulator.md says otherwise than %s: make accuracy UPDATE=1 writes it", line)
	}
}

// leaderboard holds the times that MSCCL's leaderboard gives for NDv4 to the intervals of
// our programs of its kinds.
func leaderboard(t *testing.T, verdicts []Verdict) {
	rows := 0
	for _, v := range verdicts {
		if v.Algo != "msccl:leaderboard" {
			continue
		}
		if rows++; !v.Inside {
			t.Errorf("%d bytes on NDv4: measured %.1f us, simulated %.1f of %s, interval %.2f to %.2f", v.Bytes, v.TimeUS, v.SimulatedUS, v.Name, v.Zone.Low, v.Zone.High)
		}
	}
	if rows == 0 {
		t.Error("no row of the leaderboard")
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
