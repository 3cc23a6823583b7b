package main

import (
	"bytes"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/autotune"
)

// A bar's text is no wider than its place, and whole where there is room.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line, columns := rapid.String().Draw(t, "line"), rapid.IntRange(-20, 100).Draw(t, "columns")
		got := cut(line, columns)
		if n := utf8.RuneCountInString(got); n > max(columns, 0) {
			t.Errorf("cut to %d columns: %q has %d", columns, got, n)
		}
		if utf8.RuneCountInString(line) <= columns && got != line {
			t.Errorf("%q fits %d columns, and became %q", line, columns, got)
		}
	})
	if got := cut("compiling candidates (1 of 9)", 12); got != "compiling c…" {
		t.Errorf("%q", got)
	}
}

// Elsewhere than on a terminal, a line is printed after a while and not again
// before another: of what comes before the trials, and of them.
func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	// Lines are due in an hour, or have been for one: no pause of a busy machine is
	// taken for either.
	due, notDue := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	p.last = notDue
	p.stage("tracing ring", 0, 7)
	p.last = due
	p.stage("compiling candidates", 3, 7)
	if !p.last.After(due) {
		t.Error("a line was printed, and the next one is due at once")
	}
	p.last = notDue
	p.stage("compiling candidates", 4, 7)
	p.last = due
	p.event(autotune.Event{Bytes: 1 << 20, Cell: 1, Cells: 3, Made: 5, Known: 1, Failed: 1})
	p.done()
	if want := "compiling candidates (3 of 7)\n1M (2 of 3): 6 trials, 1 failed\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
