package autotune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// maxNoteBytes limits the part of an executor's message that a record keeps.
const maxNoteBytes = 4096

// trialResult is a trial's record, or the error that left it without one.
type trialResult struct {
	index  int
	record results.Trial
	output string // what its executor printed, if it had no result
	err    error
}

// runAll runs trials on executors of a pool, jobs at a time, and calls take with their results as they arrive,
// always from this goroutine, and with several at once if they arrived meanwhile. It
// starts no more trials once the context is done, more returns false or a result has
// an error, and waits for the trials under way.
func runAll(ctx context.Context, p *executor.Pool, trials []executor.Trial, jobs int, more func() bool, take func([]trialResult)) {
	fates := make(chan trialResult, len(trials))
	indices := make(chan int)
	stop := make(chan struct{})
	var once sync.Once
	var workers sync.WaitGroup
	for range min(max(jobs, 1), len(trials)) {
		workers.Go(func() {
			for i := range indices {
				f := trialResult{index: i}
				e, err := p.Get()
				if err != nil {
					f.err = err
				} else {
					f.record, f.output, f.err = attempt(ctx, e, trials[i])
					p.Put(e)
				}
				if f.err != nil {
					once.Do(func() { close(stop) })
				}
				fates <- f
			}
		})
	}
	go func() {
		defer close(indices)
		for i := range trials {
			if ctx.Err() != nil || !more() {
				return
			}
			select {
			case indices <- i:
			case <-stop:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		workers.Wait()
		close(fates)
	}()
	for f := range fates {
		take(drain(f, fates))
	}
}

// drain returns the first result and all that have arrived since, without waiting.
func drain(first trialResult, fates <-chan trialResult) []trialResult {
	pile := []trialResult{first}
	for {
		select {
		case f, open := <-fates:
			if !open {
				return pile
			}
			pile = append(pile, f)
		default:
			return pile
		}
	}
}

// attempt runs one trial. The record has outcome, times, note, seconds and cost only; the
// string is what the executor printed before it died or was abandoned. An error means
// that the trial has no outcome: the executor is lost, or the run was interrupted.
func attempt(ctx context.Context, e executor.Executor, t executor.Trial) (results.Trial, string, error) {
	start := time.Now()
	m, err := e.Run(ctx, t)
	r := results.Trial{Seconds: math.Round(time.Since(start).Seconds()*1e6) / 1e6}
	if err != nil {
		if ctx.Err() != nil {
			return r, "", ErrInterrupted
		}
		r.Outcome = outcomeOf(err)
		if r.Outcome == "" {
			return r, "", err
		}
		r.Note = note(err.Error())
		return r, printed(err), nil
	}
	r.Outcome, r.TimesUS, r.Note, r.Data, r.Cost = results.OK, m.TimesUS, note(m.Note), results.Unchecked, m.CostSeconds
	if m.Checked {
		r.Data = results.Checked
	}
	if m.Wrong != 0 {
		r.Outcome = results.Wrong
		r.Note = note(fmt.Sprintf("%d elements wrong; %s", m.Wrong, m.Note))
	}
	for _, us := range m.TimesUS {
		if err := units.CheckTimeUS(us); err != nil {
			r.Outcome, r.TimesUS, r.Note = results.Failed, nil, fmt.Sprintf("executor gave a %v", err)
			return r, "", nil
		}
	}
	if r.Outcome == results.OK && len(m.TimesUS) == 0 {
		r.Outcome, r.Note = results.Failed, "executor gave no time"
	}
	r.TimesUS = results.Downsample(r.TimesUS)
	return r, "", nil
}

// printed returns what the executor printed before it ended, in full.
func printed(err error) string {
	var crash *executor.CrashError
	var late *executor.TimeoutError
	switch {
	case errors.As(err, &crash):
		return crash.Stderr
	case errors.As(err, &late):
		return late.Stderr
	}
	return ""
}

// outcomeOf maps an executor's error to the trial's outcome; empty if the error ends
// the run. ErrTimeout becomes TimedOut here.
func outcomeOf(err error) results.Outcome {
	var crash *executor.CrashError
	switch {
	case errors.Is(err, executor.ErrLost), errors.Is(err, executor.ErrClosed), errors.Is(err, executor.ErrNotFound):
		return ""
	case errors.Is(err, executor.ErrTimeout):
		return results.TimedOut
	case errors.As(err, &crash):
		return results.Crashed
	}
	return results.Failed
}

// note truncates an executor's message to maxNoteBytes.
func note(s string) string {
	s = strings.ToValidUTF8(strings.TrimRight(s, " ;\n"), "?")
	if len(s) > maxNoteBytes {
		s = strings.ToValidUTF8(s[:maxNoteBytes], "") + "…"
	}
	return s
}
