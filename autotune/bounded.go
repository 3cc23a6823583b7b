package autotune

import (
	"context"
	"slices"
)

// batchSize is how many trials are chosen at a time, from what is known before
// the first of them runs. It is a constant and not the number of jobs, so that
// the choice is the same however many run at once.
const batchSize = 16

// mostBatchSteps bounds the steps of a batch's programs together, so that of large
// programs few are begun that a better one's time would have spared. So many fit
// all the same: they keep the processors at work.
const (
	mostBatchSteps = 1 << 22
	leastBatch     = 4
)

// bounded makes every trial of a cell that could win in one of its classes, by
// rising bound. What the vendor's library would run comes first: whatever cuts
// the campaign short, the comparison is there. With it goes what won a size below.
func bounded(ctx context.Context, r *run, c *cell) error {
	var first []*trial
	for _, t := range c.trials {
		if t.baseline {
			first = append(first, t)
		}
	}
	if r.before != nil {
		for _, t := range c.heirs(r.before) {
			if !slices.Contains(first, t) {
				first = append(first, t)
			}
		}
	}
	if err := r.measure(ctx, c, first, 0); err != nil {
		return err
	}
	// Incumbents only fall, so what is hopeless once stays so, and one pass
	// over the trials is enough.
	for next := 0; next < len(c.trials); {
		var batch []*trial
		batch, next = c.batch(next)
		if err := r.measure(ctx, c, batch, 0); err != nil {
			return err
		}
	}
	return nil
}

// batch is the next trials to make, from one on, and where those after them begin.
func (c *cell) batch(next int) (batch []*trial, after int) {
	steps := 0
	for ; next < len(c.trials) && len(batch) < batchSize; next++ {
		t := c.trials[next]
		if t.done || c.hopeless(t) {
			continue
		}
		if steps += t.allSteps; steps > mostBatchSteps && len(batch) >= leastBatch {
			break
		}
		batch = append(batch, t)
	}
	return batch, next
}
