package autotune

import (
	"context"
	"slices"
)

// Where an executor's times vary, the fastest of many trials is partly the luckiest.
// So the fastest trials of each class are repeated before one of them is the winner.
const (
	maxRepeats    = 3 // measurements of a contender, including the first
	maxContenders = 8 // how many of a class, the fastest
)

// repeatContenders repeats the trials of a cell that can't be told from the incumbent of one
// of their classes, because their confidence intervals overlap. Which these are
// follows from the journal, so a resumed run repeats the same ones.
func repeatContenders(ctx context.Context, r *run, c *cell) error {
	for repeat := 1; repeat < maxRepeats; repeat++ {
		var close []*trial
		for i, best := range c.best {
			if best == nil {
				continue
			}
			var class []*trial
			for _, t := range c.trials {
				if t.competes() && t.ci[0] <= best.ci[1] && c.inClass(i, t) {
					class = append(class, t)
				}
			}
			if len(class) == 1 {
				continue // no other trial disputes it
			}
			slices.SortFunc(class, faster)
			for _, t := range class[:min(len(class), maxContenders)] {
				if !slices.Contains(close, t) {
					close = append(close, t)
				}
			}
		}
		if len(close) == 0 {
			return nil
		}
		r.event.Trials += len(close)
		if err := r.measure(ctx, close, repeat); err != nil {
			return err
		}
		c.recomputeIncumbents()
	}
	return nil
}
