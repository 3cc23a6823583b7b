package autotune

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/executor"
)

// A launch measures all sizes of a configuration: only the first of them costs, until it is
// repeated.
func TestCosts(t *testing.T) {
	at := func(config, size int, seconds float64) model.Observation {
		return model.Observation{Point: model.Point{Config: config, Size: size}, TimeUS: 1, Seconds: seconds}
	}
	if got := costsOf(3, nil).of(model.Point{}); got != 1 {
		t.Errorf("before any trial: %v s, want 1", got)
	}
	c := costsOf(4, []model.Observation{at(0, 1, 8), at(0, 0, 0.0001), at(1, 2, 12), at(1, 1, 0.5), at(2, 1, 10)})
	for _, tc := range []struct {
		name         string
		config, size int
		want         float64
	}{
		{"a new configuration, as two at this size", 5, 1, 9},
		{"a new one at a size without launches, as at the next larger one", 5, 0, 9},
		{"beyond the largest", 5, 3, 12},
		{"a size of one that was launched, as at the nearest that was not paid for", 0, 2, 0.5},
		{"one with a trial in less than is taken notice of", 2, 0, leastSeconds},
		{"a repetition", 0, 1, 9},
		{"a repetition of a size that was not paid for", 1, 1, 9},
	} {
		if got := c.of(model.Point{Config: tc.config, Size: tc.size}); got != tc.want {
			t.Errorf("%s: %v s, want %v", tc.name, got, tc.want)
		}
	}
	again := costsOf(4, []model.Observation{at(0, 1, 8), at(0, 0, 0.1), at(0, 1, 8)})
	if got := again.of(model.Point{Config: 0, Size: 0}); got != 0.1 {
		t.Errorf("a size whose repetition another paid for: %v s, want 0.1", got)
	}
}

// The time to the end is that of the trials that are left, and no more than the limits.
func TestLeft(t *testing.T) {
	f := field{3}
	c := newCampaign(t, "in")
	o := optionsFor(c, fakeOf(f), 1)
	o.Strategy = "exhaustive"
	var last, most time.Duration
	o.Progress = func(e Event) {
		last, most = e.Left, max(most, e.Left)
	}
	run := func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		time.Sleep(2 * time.Second)
		return executor.Measurement{TimesUS: []float64{f.time(t)}}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		e := newFake(run)
		e.description.Deterministic = false
		o.Executors = executor.NewPool(func() (executor.Executor, error) { return e, nil })
		begun := time.Now()
		if _, err := Run(t.Context(), testProblem(), f.candidates(2, true, true), o); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); most < took/2 || most > 2*took || last > took/4 {
			t.Errorf("at most %v left, and %v at last, of a search of %v", most, last, took)
		}
	})
	limited := newCampaign(t, "in")
	o.Campaign, o.Budget, most = limited, 10*time.Second, 0
	synctest.Test(t, func(t *testing.T) {
		e := newFake(run)
		e.description.Deterministic = false
		o.Executors = executor.NewPool(func() (executor.Executor, error) { return e, nil })
		if _, err := Run(t.Context(), testProblem(), f.candidates(2, true, true), o); !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
		if most > o.Budget || most == 0 {
			t.Errorf("at most %v left of a budget of %v", most, o.Budget)
		}
	})
}
