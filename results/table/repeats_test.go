package table

import (
	"math"
	"strings"
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// measured is a campaign on an executor whose times vary: at 1 KiB the winner ties with its
// runner-up and at 2 KiB it does not; the baseline is measured with both.
func measured(t testing.TB) *results.Campaign {
	t.Helper()
	c := resultstest.Create(t, resultstest.Plan(1024, 2048))
	e := resultstest.Executor
	e.Deterministic = false
	if _, err := c.SetExecutor(e); err != nil {
		t.Fatal(err)
	}
	trial := func(name string, repeat int, bytes int64, us ...float64) results.Trial {
		x := resultstest.NativeTrial(name, "LL", nil, 1, bytes, 1)
		x.Repeat, x.TimesUS, x.Fingerprint = repeat, us, e.Hash()
		return x
	}
	resultstest.Append(t, c,
		trial("auto", 0, 1024, 20, 21, 20, 21, 20), trial("auto", 1, 1024, 20, 21, 22, 20, 21),
		trial("ring", 0, 1024, 10, 11, 12, 10, 11), trial("ring", 1, 1024, 12, 13, 12, 13, 90),
		trial("tree", 0, 1024, 11, 12, 12, 11, 12), trial("tree", 1, 1024, 11, 12, 13, 12, 13),
		trial("auto", 0, 2048, 31, 32, 33, 31, 32), trial("auto", 1, 2048, 30, 32, 34, 31, 33),
		trial("ring", 0, 2048, 30, 31, 32, 33, 34), trial("ring", 1, 2048, 30, 31, 32, 33, 34),
		trial("tree", 0, 2048, 40, 41, 40, 41, 40), trial("tree", 1, 2048, 41, 42, 41, 42, 41),
	)
	points := []results.Point{}
	for _, bytes := range []int64{1024, 2048} {
		auto := resultstest.NativeTrial("auto", "LL", nil, 1, bytes, 1)
		points = append(points, results.Point{Bytes: bytes, Placement: "in", Baseline: &results.Baseline{Name: "auto", Program: auto.Program, Protocol: "LL"}})
	}
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 3, Tuned: 3, Points: points}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRepeats(t *testing.T) {
	winners, err := Build(measured(t))
	if err != nil {
		t.Fatal(err)
	}
	first, second := &winners.Rows[0], &winners.Rows[1]
	if first.Algorithm != "ring" || first.tieText() != "tree LL" || first.outlierText() != "1 of 10, to 7.5 x" || !*first.Repeats.BaselineApart {
		t.Errorf("1 KiB: %s, tied with %q, outliers %q, apart from the baseline %v", first.Algorithm, first.tieText(), first.outlierText(), *first.Repeats.BaselineApart)
	}
	if first.Wins() != true || first.Repeats.TrialsUS[0] != 11 || first.Repeats.TrialsUS[1] != 13 {
		t.Errorf("1 KiB: wins %v with trials of %v us, want true and [11 13]", first.Wins(), first.Repeats.TrialsUS)
	}
	if second.Algorithm != "auto" || second.tieText() != "ring LL" || second.outlierText() != "" || second.Repeats.BaselineApart != nil {
		t.Errorf("2 KiB: %s, tied with %q, outliers %q, baseline %v", second.Algorithm, second.tieText(), second.outlierText(), second.Repeats.BaselineApart)
	}
	if want := "tied: the winner of 2 of 2 rows can't be told from the runner-up"; !strings.Contains(strings.Join(winners.Notes, "\n"), want) {
		t.Errorf("notes %q, want %q", winners.Notes, want)
	}
	for _, c := range rowColumns {
		if c.head == "tied_with" {
			t.Error("a table of computed times has a column of ties")
		}
	}
}

// Drift is told where configurations became slower together, and not where they scatter.
// The first measurement of what was chosen for its luck does not count.
func TestDrift(t *testing.T) {
	at := Cell{"in", 1024}
	baseline := &results.Baseline{Program: "auto", Protocol: "LL"}
	of := func(name string, us ...float64) Measured {
		m := Measured{Trial: &results.Trial{Program: name, Protocol: "LL"}}
		for _, x := range us {
			m.Repeats = append(m.Repeats, []float64{x})
		}
		return m
	}
	for _, c := range []struct {
		name  string
		times []Measured
		want  float64 // ratio; 0: none
	}{
		{"luck of the first", []Measured{of("a", 9, 10), of("b", 9, 10), of("c", 9, 10), of("d", 9, 10), of("e", 9, 10), of("f", 9, 10)}, 0},
		{"all slower", []Measured{of("a", 9, 10, 11), of("b", 9, 10, 11), of("c", 9, 10, 11), of("d", 9, 10, 11), of("e", 9, 10, 11), of("auto", 20, 22)}, 1.1},
		{"as many faster", []Measured{of("a", 9, 10, 11), of("b", 9, 11, 10), of("c", 9, 10, 11), of("d", 9, 11, 10), of("e", 9, 10, 11), of("f", 9, 11, 10)}, 0},
		{"slower by little", []Measured{of("a", 9, 10, 10.1), of("b", 9, 10, 10.1), of("c", 9, 10, 10.1), of("d", 9, 10, 10.1), of("e", 9, 10, 10.1), of("f", 9, 10, 10.1)}, 0},
		{"too few", []Measured{of("a", 9, 10, 11), of("auto", 20, 22)}, 0},
		{"none again", []Measured{of("a", 9), of("auto", 20)}, 0},
	} {
		got := driftOf(map[Cell][]Measured{at: c.times}, map[Cell]results.Point{at: {Baseline: baseline}})
		if (got == nil) != (c.want == 0) || got != nil && math.Abs(got.Ratio-c.want) > 1e-9 {
			t.Errorf("%s: %+v, want a ratio of %v", c.name, got, c.want)
		}
	}
	if got := signTest(0, 6); math.Abs(got-2.0/64) > 1e-12 {
		t.Errorf("none of 6: %v, want 2/64", got)
	}
	if got := signTest(3, 6); got != 1 {
		t.Errorf("3 of 6: %v, want 1", got)
	}
	d := Drift{Again: 6, Slower: 1, Ratio: 0.9}
	if want := "drift: of 6 configurations measured again, 5 were faster the last time than the first, in the median by 10.0 %: times of different moments may not be comparable"; d.note() != want {
		t.Errorf("%q, want %q", d.note(), want)
	}
}
