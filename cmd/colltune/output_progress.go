package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
)

// progress shows how far a campaign has come: as a bar on a terminal, elsewhere as
// a line every few seconds. autotune never calls it from two goroutines at once.
//
// What comes too soon after the line before is shown a little later, unless something
// newer has come by then: a stage that takes minutes must not stand under the name of
// the one before it, nor be silent.
type progress struct {
	w        io.Writer
	bar      *progressbar.ProgressBar // nil: lines are printed
	interval time.Duration            // how often it is looked whether a line is due; 0: never

	mu      sync.Mutex
	last    time.Time // when a line was shown
	line    string
	share   float64
	pending bool // the line has not been shown
	paused  bool // other text is being printed
	stop    chan struct{}
}

const (
	barInterval    = 100 * time.Millisecond // how often a bar is drawn
	lineInterval   = 5 * time.Second        // how often a plain line is printed
	repeatInterval = time.Minute            // how often one is printed again that has not changed
)

// barSteps is the length of the bar, in more steps than a terminal has columns.
const barSteps = 1000

func newProgress(w io.Writer) *progress {
	if s, ok := w.(*stderrWriter); ok {
		w = s.terminal // show makes lines safe
	}
	p := &progress{w: w, last: time.Now(), interval: time.Second}
	if isTerminal(w) {
		p.bar = progressbar.NewOptions(barSteps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(24),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionClearOnFinish(),
		)
		p.last, p.interval = time.Time{}, barInterval
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
	p.show(progressLine(e), (float64(e.Cell)+within)/float64(max(e.Cells, 1)))
}

// stage shows a step of what comes before the run. A bar that was full can't be
// drawn again, and the run needs it, so it never becomes full here.
func (p *progress) stage(what string, done, of int) {
	p.show(fmt.Sprintf("%s (%d of %d)", what, done, of), min(float64(done)/float64(max(of, 1)), 0.99))
}

func (p *progress) show(line string, part float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line, p.share, p.pending, p.paused = safe.Line(line), part, true, false
	p.draw(time.Now())
	if p.stop == nil && p.interval > 0 {
		p.stop = make(chan struct{})
		go p.watch(p.stop)
	}
}

// watch draws what has become due, until it is stopped.
func (p *progress) watch(stop chan struct{}) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-ticker.C:
			p.mu.Lock()
			if p.stop == stop && !p.paused {
				p.draw(now)
			}
			p.mu.Unlock()
		}
	}
}

// draw shows the line if it is due.
func (p *progress) draw(now time.Time) {
	since := now.Sub(p.last)
	switch {
	case p.bar != nil && p.pending && since >= barInterval:
		p.bar.Describe(truncate(p.line, p.columns()-barMargin))
		_ = p.bar.Set(int(p.share * barSteps))
	case p.bar == nil && p.pending && since >= lineInterval:
		fmt.Fprintln(p.w, p.line)
	case p.bar == nil && !p.pending && since >= repeatInterval:
		fmt.Fprintln(p.w, "still "+p.line)
	default:
		return
	}
	p.last, p.pending = now, false
}

// barMargin is the least room that percentage and frame take beside a bar's text.
const barMargin = 14

// columns is the width of the terminal.
func (p *progress) columns() int {
	if f, ok := p.w.(*os.File); ok {
		if wide, _, err := term.GetSize(int(f.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return 80
}

// truncate shortens a line to a number of columns. A longer line would not be erased
// when the bar is drawn again.
func truncate(line string, columns int) string {
	letters := []rune(line)
	switch {
	case len(letters) <= columns:
		return line
	case columns < 2:
		return ""
	}
	return string(letters[:columns-1]) + "…"
}

// progressLine says in a line how far a run has come.
func progressLine(e autotune.Event) string {
	s := fmt.Sprintf("%s (%d of %d): %d trials", units.Bytes(e.Bytes), e.Cell+1, e.Cells, e.Made+e.Known)
	if e.Runtime != "" {
		s = fmt.Sprintf("files for %s: %d trials", e.Runtime, e.Made+e.Known)
	}
	if e.Failed > 0 {
		s += fmt.Sprintf(", %d failed", e.Failed)
	}
	if e.Incumbent != "" && e.Runtime == "" {
		s += fmt.Sprintf(", best %s %.2f us", e.Incumbent, e.IncumbentUS)
	}
	return s
}

// pause clears the bar, to make room for a line of text, and draws nothing before there
// is something to show again.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done removes the bar.
func (p *progress) done() {
	p.pause()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}
