package autotune

import (
	"context"
	"math"
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

// tuneByBound completes all cells, one after another. A budget may end a run at any time, and
// by then every size should have a good program: so under a budget the cells take turns,
// each turn of twice as many trials as the one before.
//
//	turn      1   2   3   …
//	1 KiB     1   2   4       trials by their bounds, after the baseline and the winner so
//	  …       1   2   4       far at the size below
//	1 GiB     1   2   4
func (r *run) tuneByBound(ctx context.Context, cells []*cell, few []int) error {
	most := math.MaxInt
	if r.options.Budget > 0 {
		most = 1
	}
	for open := slices.Clone(cells); len(open) > 0; most *= 2 {
		var left []*cell
		for _, c := range open {
			finished, err := r.tuneCell(ctx, c, most)
			switch {
			case err != nil:
				return err
			case finished:
				c.dropUnexportable(few)
			default:
				left = append(left, c)
			}
		}
		open = left
	}
	return nil
}

// tuneCell measures at most a number of a cell's trials by their bounds, and reports whether
// no other can win. Then the cell is finished.
func (r *run) tuneCell(ctx context.Context, c *cell, most int) (finished bool, err error) {
	r.emit(CellStarted, c, nil)
	if err := c.sortByBound(ctx, r.options.Jobs); err != nil {
		return false, err
	}
	if finished, err = r.measureByBound(ctx, c, most); !finished || err != nil {
		return false, err
	}
	r.noteUnanswered(c)
	r.summary.Finished++
	for _, t := range c.trials {
		if !t.done {
			r.event.Done++
		}
	}
	r.emit(CellFinished, c, nil)
	return true, nil
}

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
	if err := r.measure(ctx, first); err != nil {
		return false, err
	}
	// Incumbents only get faster, so a trial that is hopeless remains so, and one
	// pass is enough.
	for c.next < len(c.trials) {
		if most == 0 {
			return false, nil
		}
		batch, next := c.batch(c.next, most)
		if err := r.measure(ctx, batch); err != nil {
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
