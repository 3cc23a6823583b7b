package report

import (
	"strings"
	"testing"
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
			s.points = append(s.points, point{bytes: n, value: float64(n)})
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
