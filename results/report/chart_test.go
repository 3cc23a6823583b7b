package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// A line goes on only between sizes that are neighbours in the plan.
func TestLinesBreakAtGaps(t *testing.T) {
	next := map[int64]int64{1: 2, 2: 4, 4: 8, 8: 16}
	for _, tc := range []struct {
		name  string
		sizes []int64
		moves string // of the pen
		dots  int    // points that no line comes to or leaves
	}{
		{"whole", []int64{1, 2, 4, 8}, "MLLL", 0},
		{"one missing", []int64{1, 2, 8, 16}, "MLML", 0},
		{"one alone", []int64{1, 4, 8}, "MML", 1},
		{"all alone", []int64{1, 4, 16}, "MMM", 3},
	} {
		var s series
		for _, n := range tc.sizes {
			s.points = append(s.points, point{x: n, value: float64(n)})
		}
		axis := scale{min: 1, max: 16, from: 0, to: 100}
		l := trace(s, axis, axis, next)
		moves := strings.Map(func(r rune) rune {
			if r == 'M' || r == 'L' {
				return r
			}
			return -1
		}, l.Path)
		if moves != tc.moves || len(l.Dots) != tc.dots {
			t.Errorf("%s: drawn %s with %d dots, want %s with %d", tc.name, moves, len(l.Dots), tc.moves, tc.dots)
		}
	}
}

// TestExtremeTimes draws the least and the largest time that a measurement may have
// beside usual ones: every number in the page is one.
func TestExtremeTimes(t *testing.T) {
	c := newCampaign(t, t.TempDir(), testPlan(t, "in", 1024, 2048, 4096), simulated)
	defer c.Close()
	ring, other := testRing(4, 0, true), testRing(4, 1, true)
	resultstest.Append(t, c,
		newTrial(t, c, ring, "ring", "LL", 32768, 1024, units.LeastTimeUS, units.MostTimeUS), newTrial(t, c, other, "other", "LL", 32768, 1024, 12.5),
		newTrial(t, c, ring, "ring", "LL", 32768, 2048, units.MostTimeUS), newTrial(t, c, other, "other", "LL", 32768, 4096, units.LeastTimeUS))
	setTally(t, c, results.Tally{Finished: true, Enumerated: 2, Tuned: 2, Points: []results.Point{
		{Bytes: 2048, Placement: "in", Baseline: &results.Baseline{Name: "library", TimeUS: units.LeastTimeUS}},
		{Bytes: 4096, Placement: "in", Baseline: &results.Baseline{Name: "library", TimeUS: units.MostTimeUS}},
	}})
	page, _ := pageOf(t, c)
	if at := regexp.MustCompile(`NaN|[+-]?Inf\b`).FindStringIndex(page); at != nil {
		t.Errorf("the page has %q", page[max(at[0]-80, 0):at[1]])
	}
}
