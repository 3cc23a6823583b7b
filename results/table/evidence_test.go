package table

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"pgregory.net/rapid"
)

// A row's mark holds for all measurements behind its time.
func TestRowsMarkUncheckedTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.SampledFrom([]results.Data{"", results.Checked, results.Unchecked, results.NoData}), 1, 4).Draw(rt, "data")
		c := resultstest.Create(t, resultstest.Plan(1024))
		took := func(repeat int, d results.Data, outcome results.Outcome) {
			x := resultstest.LibraryTrial("a", 1024, 5)
			x.Repeat, x.Data, x.Outcome = repeat, d, outcome
			resultstest.Append(t, c, x)
		}
		for i, d := range data {
			took(i, d, results.OK)
		}
		took(len(data), results.Unchecked, results.Crashed) // is behind no time
		slower := resultstest.LibraryTrial("bb", 1024, 9)
		slower.Data = results.Unchecked
		resultstest.Append(t, c, slower)
		winners, err := Build(c)
		if err != nil {
			rt.Fatal(err)
		}
		n := func(which results.Data) (n int) {
			for _, d := range data {
				if d == which {
					n++
				}
			}
			return n
		}
		want, mark := "", ""
		switch {
		case n(results.Unchecked) > 0:
			want, mark = "false", fmt.Sprintf("%d of %d", n(results.Unchecked), len(data))
		case n(results.Checked) == len(data):
			want = "true"
		}
		row := &winners.Rows[0]
		if got := boolText(row.Checked); got != want || row.evidence.mark() != mark || boolText(winners.Ranges[0].Checked) != want {
			rt.Fatalf("%q: row %q, mark %q, range %q: want %q and %q", data, got, row.evidence.mark(), boolText(winners.Ranges[0].Checked), want, mark)
		}
	})
}
