package autotune

import (
	"context"
	"math"
	"slices"

	"github.com/colltune/colltune/results"
)

// maxBatchSteps limits the steps of all programs in a batch, because a batch of
// large programs may begin many that the first one's time would have ruled out. At
// least minBatch are chosen, to keep the processors busy.
const (
	maxBatchSteps = 1 << 22
	minBatch      = 4
)

// byBound completes all cells, one after another: it chooses the trials of a cell that could
// win one of its classes, by rising bound. The baselines come first, so that an interrupted
// campaign still has its comparison; with them come the winners so far of the next smaller
// size. A budget may end a run at any time, and by then every size should have a good program:
// so under a budget the cells take turns, each turn of twice as many trials as the one before.
//
//	turn      1   2   3   …
//	1 KiB     1   2   4       trials by their bounds, after the baseline and the winner so
//	  …       1   2   4       far at the size below
//	1 GiB     1   2   4
type byBound struct {
	*tuner
	open     []*cell // that have a turn in this round, or have it now
	later    []*cell // that have one in the next
	started  bool    // the first open cell has its turn
	most     int     // trials of a turn, by their bounds
	left     int     // of these, of the turn that is under way
	finished int     // cells
	cover    cover
}

func startByBound(r *tuner) chooser {
	if r.practice.recalls {
		r.recall()
	}
	b := &byBound{tuner: r, open: slices.Clone(r.cells), most: math.MaxInt, cover: newCover(r)}
	if r.options.Budget > 0 {
		b.most = 1
	}
	return b
}

func (b *byBound) next(ctx context.Context) ([]*trial, error) {
	for len(b.open)+len(b.later) > 0 {
		if len(b.open) == 0 {
			b.open, b.later, b.most = b.later, nil, 2*b.most
		}
		c := b.open[0]
		if !b.started {
			b.started, b.left = true, b.most
			b.emit(CellStarted, c, nil)
			if err := c.sortByBound(ctx, b.options.Jobs); err != nil {
				return nil, err
			}
			if first := c.first(); len(first) > 0 {
				return first, nil
			}
		}
		// Incumbents only get faster. But a trial that is about as fast may win where it is lighter, and a
		// later incumbent may be heavier than the one beside which it was hopeless.
		if c.next == len(c.trials) {
			if again := slices.IndexFunc(c.trials, func(t *trial) bool { return !t.done && !c.hopeless(t) }); again >= 0 {
				c.next = again
			}
		}
		if c.next < len(c.trials) && b.left > 0 {
			var batch []*trial
			batch, c.next = c.batch(c.next, b.left)
			if b.left -= len(batch); len(batch) > 0 {
				return batch, nil
			}
		}
		if c.next < len(c.trials) {
			b.later = append(b.later, c)
		} else {
			b.finish(c)
		}
		b.open, b.started = b.open[1:], false
	}
	return nil, nil
}

// finish ends a cell of which no other trial can win.
func (b *byBound) finish(c *cell) {
	b.finished++
	for _, t := range c.trials {
		if !t.done {
			b.event.Done++
		}
	}
	b.emit(CellFinished, c, nil)
	c.dropUnexportable(b.cover.classes)
}

func (b *byBound) files(context.Context) ([]*trial, error) { return b.cover.next(), nil }

func (b *byBound) outlook() (int, []results.Outlook) { return b.finished, nil }

// first lists the trials that begin a turn of a cell.
func (c *cell) first() (first []*trial) {
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
	return first
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
