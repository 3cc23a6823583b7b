package table

import (
	"bytes"
	"strings"
	"testing"

	"github.com/colltune/colltune/results"
)

// The table says at which sizes the search is done, and what a minute more would buy at the
// others.
func TestOutlook(t *testing.T) {
	c := measured(t)
	tally, _ := c.Tally()
	for _, tc := range []struct {
		name    string
		gain    float64
		outlook []results.Outlook
		notes   []string
		cells   [2]string
	}{
		{"one open", 0.01, []results.Outlook{{Bytes: 1024, Placement: "in", Gain: 0.004, Done: true}, {Bytes: 2048, Placement: "in", Gain: 0.0234, Next: "tree LL", NextSeconds: 0.5}},
			[]string{"done: at 1 of 2 rows further trials are expected to gain less than 1 %", "a minute more is expected to gain 2.34 % at 2K"}, [2]string{"< 1 %", "2.34 %"}},
		{"a trial takes two minutes", 0.02, []results.Outlook{{Bytes: 1024, Placement: "in", Gain: 0.1, Next: "tree LL", NextSeconds: 120}, {Bytes: 2048, Placement: "in", Done: true}},
			[]string{"done: at 1 of 2 rows further trials are expected to gain less than 2 %", "a minute more is expected to gain 5 % at 1K"}, [2]string{"10 %", "< 2 %"}},
		{"nothing is expected", 0, []results.Outlook{{Bytes: 1024, Placement: "in"}, {Bytes: 2048, Placement: "in", Done: true}},
			[]string{"trials are left at 1K"}, [2]string{"not known", "done"}},
		{"no strategy", 0, nil, nil, [2]string{"", ""}},
	} {
		tally.Gain, tally.Outlook = tc.gain, tc.outlook
		if err := c.SetTally(tally); err != nil {
			t.Fatal(err)
		}
		winners, err := Build(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(winners.outlookNotes(), "\n"), strings.Join(tc.notes, "\n"); got != want {
			t.Errorf("%s: notes\n%s\nwant\n%s", tc.name, got, want)
		}
		for i, want := range tc.cells {
			if got := winners.outlookText(&winners.Rows[i]); got != want {
				t.Errorf("%s: row %d says %q, want %q", tc.name, i, got, want)
			}
		}
		var text bytes.Buffer
		if err := winners.Write(&text, "csv", Look{}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(text.String(), "expected_gain"); has != (tc.outlook != nil) {
			t.Errorf("%s: a column for the gain: %v", tc.name, has)
		}
	}
	if err := c.SetTally(results.Tally{Outlook: []results.Outlook{{Bytes: 1024, Gain: 2}}}); err == nil {
		t.Error("a gain of more than all is taken")
	}
}
