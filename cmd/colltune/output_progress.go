package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
)

// progress shows how far a command has come: on a terminal as a bar of its whole job, with
// the time that is left, elsewhere as a line every few seconds. autotune never calls it from
// two goroutines at once.
//
// A line that comes too soon after the one before is drawn when it is due, unless a
// newer one has replaced it: a stage of minutes must not run silently, or under the
// name of the stage before.
type progress struct {
	w        io.Writer
	bar      *progressbar.ProgressBar // nil: print lines
	interval time.Duration            // between checks for a line that is due; 0: never check
	job      []phase                  // nil: every stage is the whole job
	budget   time.Duration            // of the job; 0: none

	mu      sync.Mutex
	phase   int       // of job, that is under way
	share   float64   // of the job that is done, 0 to 1: it never falls
	begun   time.Time // the job, and the phase under way: with how much of the job done
	entered time.Time
	from    float64
	last    time.Time // when a line was last drawn
	line    string
	left    time.Duration // to the end, as autotune foresees it; 0: not known
	pending bool          // line has not been drawn
	paused  bool          // other text is being printed
	stop    chan struct{}
}

const (
	barInterval    = 100 * time.Millisecond // between two drawings of the bar
	beatInterval   = time.Second            // until an unchanged bar is drawn again, with a new time
	lineInterval   = 5 * time.Second        // between two plain lines
	repeatInterval = time.Minute            // until an unchanged plain line is printed again
)

// barSteps is the length of the bar in steps, more than a terminal has columns.
const barSteps = 1000

func newProgress(w io.Writer, job ...phase) *progress {
	if s, ok := w.(*stderrWriter); ok {
		w = s.terminal // show sanitizes the lines
	}
	now := time.Now()
	p := &progress{w: w, job: job, interval: time.Second, begun: now, entered: now, last: now}
	if isTerminal(w) {
		p.asBar()
	}
	return p
}

// asBar draws a bar instead of lines.
func (p *progress) asBar() {
	p.bar = progressbar.NewOptions(barSteps,
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
	p.last, p.interval = time.Time{}, barInterval
}

// isTerminal reports whether w is a terminal that can draw, and not a build's log.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" && os.Getenv("CI") == ""
}

// event shows a step of the tuning.
func (p *progress) event(e autotune.Event) {
	p.show(progressLine(e), e.Left, tuningPhase.name, float64(e.Done)/float64(max(e.Trials, 1)))
}

// stage shows a step of other work.
func (p *progress) stage(what string, done, of int) {
	line := what
	if of > 1 {
		line = fmt.Sprintf("%s (%d of %d)", what, done, of)
	}
	p.show(line, 0, what, float64(done)/float64(max(of, 1)))
}

// onTerminal is stage where there is a bar, and else nil: for work that tells how far it is on a
// terminal only.
func (p *progress) onTerminal() func(what string, done, of int) {
	if p.bar == nil {
		return nil
	}
	return p.stage
}

// show sets the line and how much of a phase is done, and draws them when they are due.
func (p *progress) show(line string, left time.Duration, phase string, done float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.reach(phase, done, now)
	p.line, p.left, p.pending, p.paused = safe.Line(line), left, true, false
	p.draw(now)
	if p.stop == nil && p.interval > 0 {
		p.stop = make(chan struct{})
		go p.watch(p.stop)
	}
}

// fullest is the largest share that is shown: a full bar can't be drawn again.
const fullest = 0.99

// reach moves the share of the job to where a part of a phase is done, unless it is there. A
// phase that comes several times is the next one of its name.
func (p *progress) reach(name string, done float64, now time.Time) {
	job := p.job
	if job == nil {
		job = []phase{{name, 1}}
	}
	i := slices.IndexFunc(job[p.phase:], func(f phase) bool { return f.name == name })
	if i < 0 {
		return
	}
	p.phase += i
	before, all := 0.0, 0.0
	for i, f := range job {
		all += f.cost
		if i < p.phase {
			before += f.cost
		}
	}
	if i > 0 {
		p.entered, p.from = now, max(p.share, before/all)
	}
	p.share = max(p.share, min((before+job[p.phase].cost*done)/all, fullest))
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
	case p.bar != nil && (p.pending && since >= barInterval || since >= beatInterval):
		if p.budget > 0 {
			p.share = max(p.share, min(float64(now.Sub(p.begun))/float64(p.budget), fullest))
		}
		_ = p.bar.Set(int(p.share * barSteps)) // before the line, which is drawn with it
		end := p.timeLeft(now)
		p.bar.Describe(truncate(p.line, p.columns()-barMargin-len(end)) + end)
	case p.bar == nil && p.pending && since >= lineInterval:
		fmt.Fprintln(p.w, p.line+aboutLeft(p.left))
	case p.bar == nil && !p.pending && since >= repeatInterval:
		fmt.Fprintln(p.w, "still "+p.line+aboutLeft(p.left))
	default:
		return
	}
	p.last, p.pending = now, false
}

// What has to be done of a job, or a phase, and spent on it, before the rest is foreseen.
const (
	leastShare = 0.03
	leastSpent = 2 * time.Second
)

// timeLeft is the end of a bar's line: the time that is left, at the speed of the phase under
// way, or of the job where that is not known yet; where neither is, the time that was spent.
func (p *progress) timeLeft(now time.Time) string {
	spent, left := now.Sub(p.begun), p.left
	if spent < leastSpent {
		return ""
	}
	for _, of := range []struct {
		done  float64
		spent time.Duration
	}{{p.share - p.from, now.Sub(p.entered)}, {p.share, spent}} {
		if left == 0 && of.done >= leastShare && of.spent >= leastSpent {
			left = time.Duration(float64(of.spent) * (1 - p.share) / of.done)
		}
	}
	if p.budget > 0 {
		left = min(left, p.budget-spent)
	}
	if left <= 0 {
		return fmt.Sprintf(", %s so far", timeText(spent))
	}
	return aboutLeft(left)
}

// aboutLeft says how much time is left; nothing where it is not known.
func aboutLeft(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf(", about %s left", timeText(d))
}

// timeText is a time to the second, and from ten minutes on to the minute.
func timeText(d time.Duration) string {
	if d >= 10*time.Minute {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return max(d, time.Second).Round(time.Second).String()
}

// The bar's width, and the columns that it needs with its percentage and frame: one more is
// left free, since a terminal wraps after the last.
const (
	barWidth  = 20
	barMargin = barWidth + 11
)

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
