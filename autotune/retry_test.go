package autotune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
)

// A run whose first trials are all given up after the time limit ends soon, and says so; the
// next one, with a longer limit, is that of an undisturbed campaign. One trial in time is
// enough to go on.
func TestTooShortATimeLimit(t *testing.T) {
	f := field{8}
	candidates := f.candidates(6, true, true)
	clean := newCampaign(t, "in")
	tuned(t, clean, candidates, optionsFor(clean, fakeOf(f), 2))
	for _, name := range Strategies() {
		for intime := range 2 {
			c, jobs, n := newCampaign(t, "in"), 2, 0
			var e *fake
			e = newFake(func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
				e.mu.Lock()
				defer e.mu.Unlock()
				if n++; n <= intime {
					return executor.Measurement{TimesUS: []float64{f.time(t)}}, nil
				}
				return executor.Measurement{}, &executor.TimeoutError{After: time.Nanosecond}
			})
			o := optionsFor(c, e, jobs)
			o.Deadline, o.Strategy = time.Nanosecond, name
			_, err := Run(t.Context(), testProblem(), candidates, o)
			var slow *TooSlowError
			ends := intime == 0 && n >= tooSlow // descent gives a size up at once
			if errors.As(err, &slow) != ends || ends && (n > 2*tooSlow || !strings.Contains(err.Error(), "after 1ns")) {
				t.Errorf("%s, %d in time: %v after %d trials", name, intime, err, n)
			}
			if name == Bounded && intime == 0 {
				tuned(t, c, candidates, optionsFor(c, fakeOf(f), 2))
				if got, want := tableOf(t, c, true), tableOf(t, clean, true); got != want {
					t.Errorf("afterwards the table is\n%s\nnot\n%s", got, want)
				}
			}
		}
	}
}

// A run in which every trial failed does not change the next: its trials are run again,
// and the table is that of an undisturbed campaign.
func TestFailedRunLeavesNoTrace(t *testing.T) {
	f := field{8}
	candidates := f.candidates(6, true, true)
	clean := newCampaign(t, "in")
	tuned(t, clean, candidates, optionsFor(clean, fakeOf(f), 2))
	want := tableOf(t, clean, true)
	for name, fault := range map[results.Outcome]error{
		results.Crashed: &executor.CrashError{},
		results.Failed:  errors.New("no device"),
	} {
		c := newCampaign(t, "in")
		o := optionsFor(c, newFake(func(context.Context, executor.Trial) (executor.Measurement, error) {
			return executor.Measurement{}, fault
		}), 2)
		o.Deadline = time.Second
		_, err := Run(context.Background(), testProblem(), candidates, o)
		var none *UnansweredError
		if !errors.As(err, &none) || none.Wrong() || none.Answered != 0 || len(none.Cells) != len(testSizes) || !strings.Contains(err.Error(), string(name)) {
			t.Fatalf("%s: %v, want no result anywhere", name, err)
		}
		c.Close()
		if c, err = results.Open(c.Dir()); err != nil { // as the journal has it
			t.Fatal(err)
		}
		before := len(c.Trials())
		_, summary := tuned(t, c, candidates, optionsFor(c, fakeOf(f), 2))
		if got := tableOf(t, c, true); got != want {
			t.Errorf("%s: afterwards the table is\n%s\nnot\n%s", name, got, want)
		}
		if summary.Again == 0 || summary.Again != summary.Trials || len(c.Trials()) != before {
			t.Errorf("%s: %+v, and %d trials where there were %d: want trials replaced", name, summary, len(c.Trials()), before)
		}
		c.Close()
	}
}

// A trial that never has a result is attempted a few times in all, once a run; one that
// timed out, only with a longer timeout; a finished one never.
func TestAttemptsAreBounded(t *testing.T) {
	f := field{2}
	candidates := f.candidates(4, true, true)
	bad := candidates[0].Hash
	for _, tc := range []struct {
		fault    error
		deadline func(run int) time.Duration
		runs     string // trials made by each run, but for the first
	}{
		{errors.New("out of memory"), func(int) time.Duration { return time.Second }, "again again 0 0"},
		{&executor.TimeoutError{After: time.Second}, func(int) time.Duration { return time.Nanosecond }, "0 0 0 0"},
		{&executor.TimeoutError{After: time.Second}, func(run int) time.Duration { return time.Duration(run/2 + 1) }, "0 again 0 again"},
	} {
		c := newCampaign(t, "in")
		e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
			if trial.Program.Hash() == bad {
				time.Sleep(20 * time.Microsecond) // more than the deadlines below
				return executor.Measurement{}, tc.fault
			}
			return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
		})
		var runs []string
		table := ""
		for n := range 5 {
			o := optionsFor(c, e, 2)
			o.Deadline = tc.deadline(n)
			got, summary := tuned(t, c, candidates, o)
			switch {
			case n == 0:
				table = got
				continue
			case got != table:
				t.Errorf("%v: run %d changes the table", tc.fault, n)
			case summary.Trials != summary.Again:
				t.Errorf("%v: run %d makes %d trials, %d of them again", tc.fault, n, summary.Trials, summary.Again)
			}
			word := "0"
			if summary.Again > 0 {
				word = "again"
				if summary.Again != summary.Failed {
					t.Errorf("%v: %+v: want all that failed made again", tc.fault, summary)
				}
			}
			runs = append(runs, word)
		}
		if got := strings.Join(runs, " "); got != tc.runs {
			t.Errorf("%v: later runs made %s, want %s", tc.fault, got, tc.runs)
		}
	}
}

// Where some sizes have a result and others have none, the summary lists both, and
// distinguishes wrong results from none.
func TestUnansweredSizes(t *testing.T) {
	f := field{1}
	candidates := f.candidates(3, true, true)
	for _, tc := range []struct {
		wrong int64
		err   error
	}{{3, nil}, {0, errors.New("too large\nfor me")}} {
		c := newCampaign(t, "in")
		e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
			if trial.Bytes > 1<<16 {
				return executor.Measurement{TimesUS: []float64{1}, Wrong: tc.wrong, Checked: true}, tc.err
			}
			return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
		})
		for range 2 {
			_, err := Run(context.Background(), testProblem(), candidates, optionsFor(c, e, 2))
			var none *UnansweredError
			if !errors.As(err, &none) || none.Answered != 2 || len(none.Cells) != 2 || none.Cells[0].Bytes != 1<<20 || none.Wrong() != (tc.wrong > 0) {
				t.Fatalf("%v: want no result at two sizes", err)
			}
			if s := err.Error(); !strings.Contains(s, "no result at 1M, 64M") || strings.Contains(s, "for me") {
				t.Errorf("%q", s)
			}
		}
		if n := 0; tc.wrong > 0 {
			for _, calls := range e.calls {
				n = max(n, calls)
			}
			if n > 1 {
				t.Errorf("a wrong trial was made %d times", n)
			}
		}
	}
	_, err := Run(context.Background(), testProblem(), nil, optionsFor(newCampaign(t, "in"), fakeOf(f), 1))
	var none *UnansweredError
	if !errors.As(err, &none) || !strings.Contains(fmt.Sprint(err), "nothing to measure") {
		t.Errorf("%v, want nothing to be measured", err)
	}
}
