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

// progress shows how far a campaign has come: a bar on a terminal, a plain line
// every few seconds elsewhere. autotune calls it from one goroutine at a time.
type progress struct {
	w    io.Writer
	bar  *progressbar.ProgressBar // nil: lines
	last time.Time
}

// everyLine is how often a plain line is printed.
const everyLine = 5 * time.Second

// barSteps is the bar's length in steps: more than a terminal has columns.
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

// isTerminal tells whether a person watches: a terminal that can draw, and no
// log of a build.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// event takes a step of a run.
func (p *progress) event(e autotune.Event) {
	within := 1.0
	if e.Kind != autotune.CellFinished {
		within = float64(e.Done) / float64(max(e.Trials, 1))
	}
	p.show(describe(e), (float64(e.Cell)+within)/float64(max(e.Cells, 1)))
}

// stage takes a step of what comes before the run. A bar that was once full is
// gone for good, and the run's own is yet to come.
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

// barRest is what stands beside a bar's text at least: its percentage and frame.
const barRest = 14

// columns is how wide the terminal is.
func (p *progress) columns() int {
	if f, ok := p.w.(*os.File); ok {
		if wide, _, err := term.GetSize(int(f.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return 80
}

// cut shortens a line to a number of columns: one that is wider than the terminal
// would stay on it each time it is drawn.
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

// describe is a line on where a run is.
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

// pause makes room for a line of text.
func (p *progress) pause() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done takes the bar away.
func (p *progress) done() { p.pause() }
