package autotune

import "context"

// batchSize is how many trials are chosen at a time, from what is known before
// the first of them runs. It is a constant and not the number of jobs, so that
// the choice is the same however many run at once.
const batchSize = 16

// bounded makes every trial of a cell that could win in one of its classes, by
// rising bound. What the vendor's library would run comes first: whatever cuts
// the campaign short, the comparison is there.
func bounded(ctx context.Context, r *run, c *cell) error {
	var first []*trial
	for _, t := range c.trials {
		if t.baseline {
			first = append(first, t)
		}
	}
	if err := r.measure(ctx, c, first, 0); err != nil {
		return err
	}
	// Incumbents only fall, so what is hopeless once stays so, and one pass
	// over the trials is enough.
	for next := 0; next < len(c.trials); {
		var batch []*trial
		for ; next < len(c.trials) && len(batch) < batchSize; next++ {
			if t := c.trials[next]; !t.done && !c.hopeless(t) {
				batch = append(batch, t)
			}
		}
		if err := r.measure(ctx, c, batch, 0); err != nil {
			return err
		}
	}
	return nil
}
