package main

import (
	"bytes"
	"os"
	"strings"
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

// A bar is one of the whole job: it never falls, and begins no phase nearly full, whatever comes
// in whatever order, as under a budget.
func TestBarNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newProgress(&bytes.Buffer{}, searchJob(rapid.IntRange(1, 2).Draw(t, "placements"))...)
		p.interval = 0
		names := rapid.SampledFrom([]string{tracingPhase.name, compilingPhase.name, estimatingPhase.name, "tracing ring", tuningPhase.name})
		for range rapid.IntRange(1, 30).Draw(t, "stages") {
			before := p.share
			name, of := names.Draw(t, "stage"), rapid.IntRange(0, 9).Draw(t, "of")
			done := rapid.IntRange(0, of).Draw(t, "done")
			if name == tuningPhase.name {
				p.event(autotune.Event{Done: done, Trials: of})
			} else {
				p.stage(name, done, of)
			}
			if p.share < before || p.share > fullest {
				t.Fatalf("%s (%d of %d): from %v to %v", name, done, of, before, p.share)
			}
		}
		p.done()
	})
	p := newProgress(&bytes.Buffer{}, searchJob(2)...)
	p.interval = 0
	for _, step := range []struct {
		tell     func()
		from, to float64
	}{
		{func() { p.stage("tracing families", 0, 18) }, 0, 0},
		{func() { p.stage("tracing ring", 40, 40) }, 0, 0},
		{func() { p.stage("compiling candidates", 4, 621) }, 0.04, 0.06},
		{func() { p.stage("tracing families", 9, 18) }, 0.29, 0.31},
		{func() { p.stage("compiling candidates", 621, 621) }, 0.54, 0.56},
		{func() { p.event(autotune.Event{Bytes: 1 << 10, Cells: 21, Trials: 900}) }, 0.54, 0.56},
		{func() { p.event(autotune.Event{Bytes: 1 << 30, Cell: 20, Cells: 21, Done: 900, Trials: 900}) }, 0.99, 0.99},
	} {
		if step.tell(); p.share < step.from || p.share > step.to {
			t.Errorf("%s: %v, want %v to %v", p.line, p.share, step.from, step.to)
		}
	}
	p.done()
}

// A bar's line says what time is left, has room for it, and leaves the last column of a terminal
// free.
func TestBarSaysTimeLeft(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, searchJob(1)...)
	p.asBar()
	p.interval = 0
	begun := p.begun
	drawn := func(after time.Duration) string {
		b.Reset()
		p.draw(begun.Add(after))
		lines := strings.Split(strings.TrimRight(b.String(), "\r"), "\r")
		last := lines[len(lines)-1]
		if n := utf8.RuneCountInString(last); n >= p.columns() {
			t.Errorf("%d columns of %d: %q", n, p.columns(), last)
		}
		return last
	}
	p.last = begun.Add(time.Hour) // draw when asked
	for _, c := range []struct {
		tell   func()
		after  time.Duration
		budget time.Duration
		want   string
	}{
		{func() { p.stage("tracing families", 0, 18) }, time.Second, 0, "tracing families (0 of 18)   0% |"},
		{func() {}, 5 * time.Second, 0, "tracing families (0 of 18), 5s so far   0% |"},
		{func() { p.stage("compiling candidates", 200, 600) }, 10 * time.Second, 0, "compiling candidates (200 of 600), about 50s left  25% |"},
		{func() { p.stage("compiling candidates", 200, 600) }, 20 * time.Second, 0, "compiling candidates (200 of 6…, about 1m40s left  25% |"},
		{func() {}, 22 * time.Second, time.Minute, "compiling candidates (200 of 600), about 38s left  36% |"},
		{func() { p.event(autotune.Event{Bytes: 1 << 10, Cells: 2, Made: 7, Left: 2 * time.Hour}) }, 30 * time.Second, 0, "1K (1 of 2): 7 trials, about 2h0m left"},
	} {
		c.tell()
		p.last, p.budget, p.pending, p.entered = begun, c.budget, true, begun
		if got := drawn(c.after); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	p.done()
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
