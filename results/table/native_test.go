package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/google/go-cmp/cmp"
)

func TestTitles(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan())
	program := resultstest.Trial(t, c, irtest.Ring(4, 2, 0, true), "ring", "LL", 32768, 1024, 3)
	own := resultstest.NativeTrial("ring", "LL", map[string]string{"channels": "8"}, 8, 1024, 3)
	for want, trial := range map[string]*results.Trial{"ring scratch=0 ×2 LL tile 32K": &program, "ring channels=8 LL": &own} {
		if got := (&Measured{Trial: trial}).Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTableOfALibrary(t *testing.T) {
	c := resultstest.Library(t)
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Algorithm, Source, Protocol string
		Tile                        int64
		IR, Bound                   bool
	}
	var rows []row
	for _, r := range winners.Rows {
		rows = append(rows, row{r.Algorithm, r.Source, r.Protocol, r.TileBytes, r.IR != "", r.BoundUS != nil})
	}
	want := []row{
		{"auto", results.SourceNative, results.ProtocolAuto, 0, false, true},
		{"ring", "template", "LL", 32768, true, true},
		// Faster than any routing: the bound is not of such.
		{"nvlstree", results.SourceNative, "Simple", 0, false, false},
		{"nvlstree", results.SourceNative, "Simple", 0, false, false},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if n := len(winners.Ranges); n != 4 { // the last two differ in their buffer
		t.Errorf("%d ranges: %+v", n, winners.Ranges)
	}
	// The journal gives it back.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := results.OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	reread, err := Build(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var a, b strings.Builder
		if err := errors.Join(winners.Write(&a, format), reread.Write(&b, format)); err != nil || a.String() != b.String() {
			t.Errorf("%s: %v\n%s\n%s", format, err, a.String(), b.String())
		}
	}
}
