package autotune

import (
	"context"
	"slices"
)

// Where a back end's times vary, the best of many trials is partly the luckiest.
// So the contenders of each class are measured again before one of them is
// believed to be the best.
const (
	repeats    = 3 // measurements of a contender, including the first
	contenders = 8 // how many of a class, the fastest
)

// settle repeats the trials of a cell that can't be told from the incumbent of one
// of their classes, because their confidence intervals overlap. Which these are
// follows from the journal, so a resumed run repeats the same ones.
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
				continue // no other trial disputes it
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
		if err := r.measure(ctx, close, repeat); err != nil {
			return err
		}
		c.crown()
	}
	return nil
}
