package autotune

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// tooSlow is the number of trials after which a run ends if every one met its deadline.
const tooSlow = 16

// checkTimely returns an error if every trial so far, and there were enough, met its deadline.
func (r *tuner) checkTimely() error {
	if r.timely > 0 || r.late < tooSlow {
		return nil
	}
	return &TooSlowError{r.late, r.options.deadline()}
}

// withBudget is the context for a run's trials. When the budget is spent, a trial
// whose time is computed is given up. A trial that is measured is waited for,
// because it is better to be late than to kill what runs on a device.
func (r *tuner) withBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.options.Budget <= 0 || !r.practice.givesUp {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, r.started.Add(r.options.Budget), r.overBudget())
}

func (r *tuner) overBudget() error { return &LimitError{"budget", r.options.Budget.String()} }

// stopCause says why a run's context is done: a limit or an interrupt.
func stopCause(ctx context.Context) error {
	var limit *LimitError
	if errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return ErrInterrupted
}

// budgetSpent reports whether the budget is used up.
func (r *tuner) budgetSpent() bool {
	return r.options.Budget > 0 && time.Since(r.started) >= r.options.Budget
}

// fits reports whether a trial that takes as long as this ends within the budget.
func (r *tuner) fits(seconds float64) bool {
	return r.options.Budget <= 0 || time.Since(r.started).Seconds()+seconds <= r.options.Budget.Seconds()
}

// errEnough ends a run without limits that has made enough trials.
var errEnough = fmt.Errorf("enough trials: %w", ErrLimit)

// limitReached returns a limit of which this part is used up, from 0 to 1.
func (r *tuner) limitReached(part float64) error {
	o := &r.options
	switch {
	case o.Trials > 0 && float64(r.summary.Trials) >= part*float64(o.Trials):
		return &LimitError{"trials", strconv.Itoa(o.Trials)}
	case o.Budget > 0 && time.Since(r.started).Seconds() >= part*o.Budget.Seconds():
		return r.overBudget()
	case r.enough > 0 && float64(r.summary.Known+r.summary.Trials) >= part*float64(r.enough):
		return errEnough
	}
	return nil
}

// limitNear returns a limit of the run once only the part for confirming is left of it.
func (r *tuner) limitNear() error {
	part := 1 - r.practice.forConfirming
	if r.enough > 0 && r.practice.forConfirming > 0 {
		part = min(part, 1-float64(toConfirm*len(r.cells))/float64(r.enough))
	}
	return r.limitReached(part)
}

// toConfirm is how many trials it takes to confirm a size's winner, before it is known better.
const toConfirm = 3
