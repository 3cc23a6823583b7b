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

// measureByBound runs every trial of a cell that could win one of its classes, by
// rising bound. The baselines run first, so that an interrupted campaign still has its
// comparison; with them run the winners of the next smaller size.
func (r *run) measureByBound(ctx context.Context, c *cell) error {
	var first []*trial
	for _, t := range c.trials {
		if t.baseline {
			first = append(first, t)
		}
	}
	if r.before != nil {
		for _, t := range c.carriedOver(r.before) {
			if !slices.Contains(first, t) {
				first = append(first, t)
			}
		}
	}
	if err := r.measure(ctx, first, 0); err != nil {
		return err
	}
	// Incumbents only get faster, so a trial that is hopeless remains so, and one
	// pass is enough.
	for next := 0; next < len(c.trials); {
		var batch []*trial
		batch, next = c.batch(next)
		if err := r.measure(ctx, batch, 0); err != nil {
			return err
		}
	}
	return nil
}

// batch returns the next trials to run, from index next on, and the index after them.
func (c *cell) batch(next int) (batch []*trial, after int) {
	steps := 0
	for ; next < len(c.trials) && len(batch) < batchSize; next++ {
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
