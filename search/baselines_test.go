package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/library"
)

// A user's family that is called like the library's is not what it runs.
func TestBaselineIsNotTheUsers(t *testing.T) {
	p, _ := problem{"fullmesh:4", 1, "allgather", []int64{1 << 20}}.resolve(t)
	var want []baseline
	for _, own := range [][]Template{nil, {{"mine.star", strings.Replace(ringOfMine, `"mine"`, `"ring"`, 1)}}} {
		s, err := Enumerate(t.Context(), p, Options{Executor: "sim", Families: []string{"ring"}, Instances: 1, Templates: own})
		if err != nil {
			t.Fatal(err)
		}
		s.baselines = slices.DeleteFunc(s.baselines, func(b baseline) bool { return b.From != library.Program })
		if own == nil {
			want = s.baselines
		}
		if same := func(a, b baseline) bool { return a.hash == b.hash && a.Name == b.Name }; len(want) != 1 || want[0].hash == "" || !slices.EqualFunc(s.baselines, want, same) {
			t.Errorf("compared with %v, want %v", s.baselines, want)
		}
	}
}

// TestBaselineTiles: the library's program is tried with the library's chunk, also where the search is
// narrowed to another.
func TestBaselineTiles(t *testing.T) {
	table, c := searched(t, problem{"dgx-a100", 2, "allreduce", []int64{8 << 20}}, Options{Families: []string{"ring"}, Instances: 1})
	got := table.Rows[0].BaselineTimeUS
	for _, trial := range c.Trials() {
		if trial.Algorithm == "double-binary-tree" && trial.TileBytes == 72000 && got != nil && *got == trial.TimesUS[0] {
			return
		}
	}
	t.Errorf("baseline of %v us: want the trial of a tree with tiles of 72000", got)
}
