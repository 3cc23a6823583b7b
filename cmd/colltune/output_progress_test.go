package main

import (
	"bytes"
	"os"
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
		got := truncate(line, columns)
		if n := utf8.RuneCountInString(got); n > max(columns, 0) {
			t.Errorf("cut to %d columns: %q has %d", columns, got, n)
		}
		if utf8.RuneCountInString(line) <= columns && got != line {
			t.Errorf("%q fits %d columns, and became %q", line, columns, got)
		}
	})
	if got := truncate("compiling candidates (1 of 9)", 12); got != "compiling c…" {
		t.Errorf("%q", got)
	}
}

// Without a terminal, a line is printed only once it is due, before the trials and
// during them.
func TestProgressLines(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.interval = 0 // the test says when it is looked
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
	p.event(autotune.Event{Bytes: 1 << 20, Cell: 1, Cells: 3, Made: 5, Known: 1, Failed: 1, Left: 83 * time.Second})
	p.done()
	if want := "compiling candidates (3 of 7)\n1M (2 of 3): 6 trials, 1 failed, about 1m23s left\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// A line that came too soon is printed once it is due, only the latest; an unchanged one
// again after a minute; and none while other text is printed.
func TestProgressCatchesUp(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.interval = 0
	p.last = time.Now().Add(time.Hour) // nothing is due before
	p.stage("tracing all-pairs", 0, 10)
	p.stage("tracing grid", 1, 10)
	at := func(after time.Duration) { p.draw(p.last.Add(after)) }
	at(lineInterval - 1)
	if b.Len() > 0 {
		t.Errorf("%q before it is due", b.String())
	}
	at(lineInterval)
	at(repeatInterval - 1)
	at(repeatInterval)
	at(repeatInterval)
	want := "tracing grid (1 of 10)\nstill tracing grid (1 of 10)\nstill tracing grid (1 of 10)\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	p.pause()
	if !p.paused {
		t.Error("paused, and not quiet")
	}
	p.stage("tracing ring", 2, 10)
	if p.paused || !p.pending {
		t.Error("something new is not shown after a pause")
	}
	p.done()
}

// A stage prints its line once it is due, without a further call, until it is done.
func TestProgressIsWatched(t *testing.T) {
	drawn := make(chan string, 100)
	p := newProgress(writerFunc(func(text []byte) (int, error) {
		drawn <- string(text)
		return len(text), nil
	}))
	p.interval = time.Millisecond
	p.last = time.Now().Add(time.Hour)
	p.stage("tracing grid", 1, 10)
	p.mu.Lock()
	p.last = time.Now().Add(-time.Hour)
	p.mu.Unlock()
	if got := <-drawn; got != "tracing grid (1 of 10)\n" {
		t.Errorf("%q", got)
	}
	p.done()
	if p.stop != nil {
		t.Error("still watched")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(text []byte) (int, error) { return f(text) }

// A bar is drawn only on a capable terminal: not in a log or a file.
func TestBarOnTerminals(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal can be made here: ", err)
	}
	defer terminal.Close()
	for _, tc := range []struct {
		name, term, ci string
		bar            bool
	}{
		{"a person", "xterm", "", true},
		{"no name", "", "", true},
		{"dumb", "dumb", "", false},
		{"a build", "xterm", "true", false},
	} {
		t.Setenv("TERM", tc.term)
		t.Setenv("CI", tc.ci)
		if bar := newProgress(terminal).bar != nil; bar != tc.bar {
			t.Errorf("%s: bar %v, want %v", tc.name, bar, tc.bar)
		}
		if newProgress(&bytes.Buffer{}).bar != nil {
			t.Errorf("%s: a bar in a buffer", tc.name)
		}
	}
}
