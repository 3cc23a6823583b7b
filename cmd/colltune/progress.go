package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/units"
)

// progress shows how far a campaign has come: as a bar on a terminal, elsewhere as
// a line every few seconds. autotune never calls it from two goroutines at once.
type progress struct {
	w    io.Writer
	bar  *progressbar.ProgressBar // nil: lines are printed
	last time.Time
}

// everyLine is how often a plain line is printed.
const everyLine = 5 * time.Second

// barSteps is the length of the bar, in more steps than a terminal has columns.
const barSteps = 1000

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, last: time.Now()}
	if isTerminal(w) {
		p.bar = progressbar.NewOptions(barSteps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// isTerminal tells whether a person is watching: on a terminal that can draw, and
// not in a build's log.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// event shows a step of the run.
func (p *progress) event(e autotune.Event) {
	within := 1.0
	if e.Kind != autotune.CellFinished {
		within = float64(e.Done) / float64(max(e.Trials, 1))
	}
	p.show(describe(e), (float64(e.Cell)+within)/float64(max(e.Cells, 1)))
}

// stage shows a step of what comes before the run. A bar that was full can't be
// drawn again, and the run needs it, so it never becomes full here.
func (p *progress) stage(what string, done, of int) {
	p.show(fmt.Sprintf("%s (%d of %d)", what, done, of), min(float64(done)/float64(max(of, 1)), 0.99))
}

func (p *progress) show(line string, part float64) {
	if p.bar != nil {
		p.bar.Describe(cut(line, p.columns()-barRest))
		_ = p.bar.Set(int(part * barSteps))
		return
	}
	if time.Since(p.last) >= everyLine {
		p.last = time.Now()
		fmt.Fprintln(p.w, line)
	}
}

// barRest is the least room that percentage and frame take beside a bar's text.
const barRest = 14

// columns is the width of the terminal.
func (p *progress) columns() int {
	if f, ok := p.w.(*os.File); ok {
		if wide, _, err := term.GetSize(int(f.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return 80
}

// cut shortens a line to a number of columns. A longer line would not be erased
// when the bar is drawn again.
func cut(line string, columns int) string {
	letters := []rune(line)
	switch {
	case len(letters) <= columns:
		return line
	case columns < 2:
		return ""
	}
	return string(letters[:columns-1]) + "…"
}

// describe says in a line how far a run has come.
func describe(e autotune.Event) string {
	s := fmt.Sprintf("%s (%d of %d): %d trials", units.Bytes(e.Bytes), e.Cell+1, e.Cells, e.Made+e.Known)
	if e.Failed > 0 {
		s += fmt.Sprintf(", %d failed", e.Failed)
	}
	if e.Incumbent != "" {
		s += fmt.Sprintf(", best %s %.2f us", e.Incumbent, e.IncumbentUS)
	}
	return s
}

// pause clears the bar, to make room for a line of text.
func (p *progress) pause() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done removes the bar.
func (p *progress) done() { p.pause() }
