package autotune

import (
	"context"
	"slices"
)

// batchSize is the number of trials chosen before the first of them runs. It is a
// constant rather than the number of jobs, so that the choice does not depend on it.
const batchSize = 16

// maxBatchSteps limits the steps of all programs in a batch, because a batch of
// large programs may begin many that the first one's time would have ruled out. At
// least minBatch are chosen, to keep the processors busy.
const (
	maxBatchSteps = 1 << 22
	minBatch      = 4
)

// measureByBound runs the trials of a cell that could win one of its classes, by rising
// bound, and stops after most of them: finished reports whether none is left. The
// baselines run first, so that an interrupted campaign still has its comparison; with them
// run the winners so far of the next smaller size.
func (r *run) measureByBound(ctx context.Context, c *cell, most int) (finished bool, err error) {
	var first []*trial
	for _, t := range c.trials {
		if t.baseline && !t.done {
			first = append(first, t)
		}
	}
	for _, t := range c.carriedOver() {
		if !t.done && !slices.Contains(first, t) {
			first = append(first, t)
		}
	}
	if err := r.measure(ctx, first, 0); err != nil {
		return false, err
	}
	// Incumbents only get faster, so a trial that is hopeless remains so, and one
	// pass is enough.
	for c.next < len(c.trials) {
		if most == 0 {
			return false, nil
		}
		batch, next := c.batch(c.next, most)
		if err := r.measure(ctx, batch, 0); err != nil {
			return false, err
		}
		c.next = next
		most -= len(batch)
	}
	return true, nil
}

// batch returns the next trials to run, at most a number from index next on, and the index
// after them.
func (c *cell) batch(next, most int) (batch []*trial, after int) {
	steps := 0
	for most = min(most, batchSize); next < len(c.trials) && len(batch) < most; next++ {
		t := c.trials[next]
		if t.done || c.hopeless(t) {
			continue
		}
		if steps += t.allSteps; steps > maxBatchSteps && len(batch) >= minBatch {
			break
		}
		batch = append(batch, t)
	}
	return batch, next
}
