package autotune

import (
	"context"
	"slices"
)

// On a back end whose times vary, the best of many trials is in part the
// luckiest. The contenders for each class are measured again before one of
// them is believed.
const (
	repeats    = 3 // measurements of a contender, the first included
	contenders = 8 // of a class, the fastest
)

// settle repeats the trials of a cell that cannot be told from the incumbent of
// one of their classes: those whose confidence intervals meet. Which they are
// follows from what is in the journal, so a resumed run repeats the same ones.
func settle(ctx context.Context, r *run, c *cell) error {
	for repeat := 1; repeat < repeats; repeat++ {
		var close []*trial
		for i, best := range c.best {
			if best == nil {
				continue
			}
			var class []*trial
			for _, t := range c.trials {
				if t.competes() && t.ci[0] <= best.ci[1] && c.has(i, t) {
					class = append(class, t)
				}
			}
			if len(class) == 1 {
				continue // alone: nobody disputes it
			}
			slices.SortFunc(class, better)
			for _, t := range class[:min(len(class), contenders)] {
				if !slices.Contains(close, t) {
					close = append(close, t)
				}
			}
		}
		if len(close) == 0 {
			return nil
		}
		if err := r.measure(ctx, c, close, repeat); err != nil {
			return err
		}
		c.crown()
	}
	return nil
}
