package autotune

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"time"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// Where times are measured, the fastest of many trials is partly the luckiest. So the
// incumbent, the runner-up and the baseline of each cell are measured again, with all
// iterations and in random order, until a rank test tells the incumbent from the others or
// they were measured often enough: then it is a tie, and the table says so.

// confirm measures contenders again, until none is open.
func (r *tuner) confirm(ctx context.Context) error {
	for open := true; open; {
		var err error
		if open, err = r.confirmOne(ctx); err != nil {
			return err
		}
	}
	return nil
}

// confirmOne measures one contender again; open is false if there is none. Which it is
// depends on the trials so far alone.
func (r *tuner) confirmOne(ctx context.Context) (open bool, err error) {
	if r.practice.forConfirming == 0 {
		return false, nil
	}
	var all []*trial
	for _, c := range r.cells {
		for _, t := range c.unconfirmed() {
			if r.fits(t.seconds) {
				all = append(all, t)
			}
		}
	}
	if len(all) == 0 || errors.Is(r.limitReached(1), errEnough) {
		return false, nil
	}
	seconds := 0.0
	for _, t := range all {
		seconds += t.seconds
	}
	r.event.Left = time.Duration(seconds * float64(time.Second))
	next := slices.MinFunc(all, func(a, b *trial) int {
		return cmp.Or(cmp.Compare(a.next(), b.next()), cmp.Compare(r.lot(a), r.lot(b)), cmp.Compare(a.record.Program, b.record.Program))
	})
	return true, r.measure(ctx, []*trial{next})
}

// lot is a trial's place in a random order, another one for each of its repetitions.
func (r *tuner) lot(t *trial) uint64 {
	record := t.record
	record.Repeat, record.Fingerprint = t.next(), r.fingerprint
	h := fnv.New64a()
	h.Write([]byte(r.key(&record)))
	return h.Sum64()
}

// unconfirmed lists the trials of a cell that are to be measured again.
func (c *cell) unconfirmed() (all []*trial) {
	best := c.best[c.requiredClass]
	if best == nil {
		return nil
	}
	if best.next() < minMeasured {
		all = append(all, best)
	}
	for _, t := range c.rivals(best) {
		if told(best, t) {
			continue
		}
		for _, t := range []*trial{best, t} {
			if t.next() < maxMeasured && !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// rivals returns the runner-up, the baseline, and the lightest trial that may win by being about as fast,
// where they are there and have a time.
func (c *cell) rivals(best *trial) (all []*trial) {
	var second *trial
	for _, t := range c.trials {
		if t == best || !t.ok() {
			continue
		}
		if t.baseline {
			all = append(all, t)
		}
		if !t.reference && (second == nil || faster(t, second) < 0) && c.inClass(c.requiredClass, t) {
			second = t
		}
	}
	if second != nil && !slices.Contains(all, second) {
		all = append(all, second)
	}
	if light := c.lightest(best); light != best && !slices.Contains(all, light) {
		all = append(all, light)
	}
	return all
}

// lightest returns the lightest trial that is about as fast as the incumbent and not told from it yet.
func (c *cell) lightest(best *trial) *trial {
	light := best
	for _, t := range c.trials {
		if t == best || best.threadblocks < 1 || !t.competes() || !table.AboutAsFast(t.time, best.time) || told(best, t) {
			continue
		}
		if cmp.Or(table.Lighter(&t.record, &light.record), faster(t, light)) < 0 && c.inClass(c.requiredClass, t) {
			light = t
		}
	}
	return light
}

// told reports whether two trials differ (results.Apart), after both were measured more
// than once, or by so much that once is enough.
func told(best, t *trial) bool {
	again := best.next() >= minMeasured && t.next() >= minMeasured
	return (again || t.time > results.Much*best.time) && results.Apart(best.repeats, t.repeats)
}
