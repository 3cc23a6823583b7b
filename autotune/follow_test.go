package autotune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
)

// noisyFake measures a field with noise that depends on the trial and the number of its
// iterations and of its earlier measurements, so that a resumed run meets the same.
func noisyFake(f field, repeats func(executor.Trial) int) *fake {
	e := newFake(nil)
	e.description.Deterministic = false
	e.run = func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		r := rand.New(rand.NewPCG(uint64(t.Bytes+t.TileBytes), uint64(repeats(t))))
		times := make([]float64, t.Iters)
		for i := range times {
			times[i] = f.time(t) * (1 + r.ExpFloat64()/8)
		}
		return executor.Measurement{TimesUS: times, Checked: true}, nil
	}
	return e
}

// order names a campaign's trials in the order in which they were made.
func order(c *results.Campaign) (all []string) {
	for _, t := range c.Trials() {
		all = append(all, fmt.Sprintf("%.8s %d %s %d #%d", t.Program, t.Bytes, t.Protocol, t.TileBytes, t.Repeat))
	}
	return all
}

// Measuring everything finds the winners of the bounded strategy.
func TestStrategiesAgree(t *testing.T) {
	f := field{5}
	candidates := f.candidates(8, true, true)
	bounded := newCampaign(t, "in")
	tuned(t, bounded, candidates, optionsFor(bounded, fakeOf(f), 2))
	want := tableOf(t, bounded, true)
	c := newCampaign(t, "in")
	o := optionsFor(c, fakeOf(f), 2)
	o.Strategy = Exhaustive
	_, summary := tuned(t, c, candidates, o)
	if got := tableOf(t, c, true); got != want {
		t.Errorf("exhaustive finds\n%s\nbounded\n%s", got, want)
	}
	if summary.Finished != len(testSizes) || summary.Untried != 0 || summary.Trials <= len(bounded.Trials()) {
		t.Errorf("exhaustive: %+v, want all finished, and more than the %d trials of bounded", summary, len(bounded.Trials()))
	}
}

// A run that is interrupted after every few trials makes the trials of one that is not, in
// the same order. The first of a large size have fewer iterations than the others.
//
// Every trial takes as long as its iterations: the time that it took is in the journal too.
func TestNextTrialFollowsFromJournal(t *testing.T) {
	synctest.Test(t, nextTrialFollows)
}

func nextTrialFollows(t *testing.T) {
	f := field{7}
	candidates := f.candidates(6, true, true)
	candidates[2].Baseline = []Point{{Bytes: 1 << 10}, {Bytes: 1 << 26}}
	for _, name := range Strategies() {
		made := func(c *results.Campaign, most int) {
			counts := map[string]int{}
			for _, t := range c.Trials() {
				counts[fmt.Sprintln(t.Program, t.Bytes, t.Protocol, t.TileBytes)]++
			}
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			n := 0
			e := noisyFake(f, func(t executor.Trial) int {
				if n++; n > most {
					interrupt()
				}
				k := fmt.Sprintln(t.Program.Hash(), t.Bytes, t.Protocol, t.TileBytes)
				counts[k]++
				return counts[k]
			})
			o := optionsFor(c, e, 2)
			o.Strategy = name
			run := e.run
			e.run = func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
				m, err := run(ctx, t)
				for _, us := range m.TimesUS {
					time.Sleep(time.Duration(us * 1e3))
				}
				return m, errors.Join(err, ctx.Err())
			}
			if _, err := Run(ctx, testProblem(), candidates, o); err != nil && !errors.Is(err, ErrInterrupted) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		whole := newCampaign(t, "in")
		made(whole, math.MaxInt)
		want := order(whole)
		pieces := newCampaign(t, "in")
		for _, most := range []int{1, 1, 2, 5, 9, 23, math.MaxInt} {
			made(pieces, most)
			// Bounded leaves out more of a size that it comes back to.
			for i, got := range order(pieces) {
				if name != Bounded && (i >= len(want) || got != want[i]) {
					t.Fatalf("%s: trial %d of %d in pieces is %s, in one go %s", name, i, len(want), got, want[min(i, len(want)-1)])
				}
			}
		}
		if n := len(order(pieces)); name != Bounded && n != len(want) {
			t.Errorf("%s: %d trials in pieces, %d in one go", name, n, len(want))
		}
		for _, trial := range whole.Trials() {
			named, times := 0, 20
			if trial.Bytes == 1<<26 {
				named, times = 16, 16
				if trial.Repeat == 0 {
					named, times = 2, 2
				}
			}
			if trial.Iters != named || len(trial.TimesUS) != times {
				t.Errorf("%s: %d iterations named, %d times at %d bytes, repetition %d", name, trial.Iters, len(trial.TimesUS), trial.Bytes, trial.Repeat)
			}
		}
	}
}

// Every twentieth trial measures an incumbent again, each in turn, so that drift is seen.
func TestIncumbentsAreWatched(t *testing.T) {
	f := field{3}
	c := newCampaign(t, "in")
	counts := map[string]int{}
	o := optionsFor(c, noisyFake(f, func(t executor.Trial) int {
		k := fmt.Sprintln(t.Program.Hash(), t.Bytes, t.Protocol, t.TileBytes)
		counts[k]++
		return counts[k]
	}), 1)
	o.Strategy, o.Trials = "exhaustive", 100
	if _, err := Run(t.Context(), testProblem(), f.candidates(8, true, true), o); !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
	var watched []int64
	for i, trial := range c.Trials() {
		if i > 80 { // a fifth of the limit is left for confirming
			break
		}
		if again := trial.Repeat > 0; again != (i > 0 && i%20 == 0) {
			t.Errorf("trial %d is repetition %d", i, trial.Repeat)
		}
		if trial.Repeat > 0 {
			watched = append(watched, trial.Bytes)
		}
	}
	if len(watched) != 4 || slices.Equal(watched[:2], watched[2:]) && watched[0] == watched[1] {
		t.Errorf("incumbents measured again at %v, want four, of several sizes", watched)
	}
}

// Without a limit by the user, the model ends after a few trials a size, though times
// scatter; with one, it goes on.
func TestModelHasEnough(t *testing.T) {
	f := field{3}
	for _, limit := range []int{0, 60} {
		c := newCampaign(t, "in")
		r := rand.New(rand.NewPCG(1, 2))
		e := newFake(func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
			return executor.Measurement{TimesUS: []float64{f.time(t) * math.Exp(0.3*r.NormFloat64())}}, nil
		})
		e.description.Deterministic = false
		o := optionsFor(c, e, 1)
		o.Strategy, o.Trials = "model", limit
		summary, err := Run(t.Context(), testProblem(), f.candidates(12, true, true), o)
		enough := enoughTrials * len(testSizes)
		switch {
		case limit == 0 && (err != nil || summary.Trials > enough):
			t.Errorf("%d trials, %v; want at most %d, and no error", summary.Trials, err, enough)
		case limit > 0 && summary.Trials <= enough:
			t.Errorf("%d trials with a limit of %d, %v", summary.Trials, limit, err)
		}
		if len(summary.Outlook) != len(testSizes) {
			t.Errorf("%d sizes have an outlook", len(summary.Outlook))
		}
	}
}
