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

// progress shows how far a campaign has come: on a terminal as a bar, elsewhere as
// a line every few seconds. autotune never calls it from two goroutines at once.
//
// A line that comes too soon after the one before is drawn when it is due, unless a
// newer one has replaced it: a stage of minutes must not run silently, or under the
// name of the stage before.
type progress struct {
	w        io.Writer
	bar      *progressbar.ProgressBar // nil: print lines
	interval time.Duration            // between checks for a line that is due; 0: never check

	mu      sync.Mutex
	last    time.Time // when a line was last drawn
	line    string
	share   float64 // of the campaign that is done, 0 to 1
	pending bool    // line has not been drawn
	paused  bool    // other text is being printed
	stop    chan struct{}
}

const (
	barInterval    = 100 * time.Millisecond // between two drawings of the bar
	lineInterval   = 5 * time.Second        // between two plain lines
	repeatInterval = time.Minute            // until an unchanged plain line is printed again
)

// barSteps is the length of the bar in steps, more than a terminal has columns.
const barSteps = 1000

func newProgress(w io.Writer) *progress {
	if s, ok := w.(*stderrWriter); ok {
		w = s.terminal // show sanitizes the lines
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

// isTerminal reports whether w is a terminal that can draw, and not a build's log.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// event shows a step of the tuning.
func (p *progress) event(e autotune.Event) {
	p.show(progressLine(e), float64(e.Done)/float64(max(e.Trials, 1)))
}

// stage shows a step before the tuning. It never fills the bar, because a full bar
// cannot be drawn again and the tuning needs it.
func (p *progress) stage(what string, done, of int) {
	p.show(fmt.Sprintf("%s (%d of %d)", what, done, of), min(float64(done)/float64(max(of, 1)), 0.99))
}

// show sets the line and the share that is done, and draws them when they are due.
func (p *progress) show(line string, share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line, p.share, p.pending, p.paused = safe.Line(line), share, true, false
	p.draw(time.Now())
	if p.stop == nil && p.interval > 0 {
		p.stop = make(chan struct{})
		go p.watch(p.stop)
	}
}

// watch draws lines that have become due, until it is stopped.
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

// barMargin is the number of columns that the bar's percentage and frame need.
const barMargin = 14

// columns returns the width of the terminal, 80 if it is not known.
func (p *progress) columns() int {
	if f, ok := p.w.(*os.File); ok {
		if wide, _, err := term.GetSize(int(f.Fd())); err == nil && wide > 0 {
			return wide
		}
	}
	return 80
}

// truncate cuts a line to a number of columns: a line that wraps is not erased when
// the bar is drawn again.
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

// progressLine describes a step of the tuning in a line.
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
	if e.Left > 0 {
		s += fmt.Sprintf(", about %s left", max(e.Left, time.Second).Round(time.Second))
	}
	return s
}

// pause clears the bar to make room for other text, and draws nothing until the next
// show.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// done removes the bar and stops the watch.
func (p *progress) done() {
	p.pause()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}
