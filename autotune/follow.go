package autotune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/results"
)

// forConfirming is the part of a limit that is left for measuring contenders again.
const forConfirming = 0.2

// follower measures what a strategy chooses in the cells of a placement.
type follower struct {
	*space
	chooser
	cells         []*cell
	deterministic bool
	history       []model.Observation
	cost          *costs // of the history; nil once that has grown
	clock         *costs // the same, by the clock
}

// follow measures the baselines, from coarse sizes to fine ones, and then what a chooser
// chooses until it expects no more, or a limit is near. Where there is
// an incumbent in every cell by then, any end leaves a whole table.
func (r *run) follow(ctx context.Context, name string, cells []*cell) error {
	r.recall(cells)
	if name == MeasuredStrategy && r.options.Trials == 0 && r.options.Budget == 0 {
		r.enough = enoughFor(cells)
	}
	if err := r.measureBaselines(ctx, cells); err != nil {
		return err
	}
	all, err := r.startFollowers(ctx, name, cells)
	if err != nil {
		return err
	}
	r.followers = all
	err = r.measureChosen(ctx, all, name == Exhaustive)
	// What confirms a winner may tell against it, or for another.
	for open := !r.deterministic; open && err == nil; {
		if open, err = r.confirmOne(ctx, cells); open && err == nil {
			err = r.measureChosen(ctx, all, false)
		}
	}
	return err
}

// Without --trials and --budget, the model ends after enoughTrials a size or, at sizes with
// more points, one trial for every pointsForTrial of them. Repetitions count. Where times
// scatter, telling the last contenders apart would take many more; the table says what is
// left to gain.
const (
	enoughTrials   = 8
	pointsForTrial = 45
)

// errEnough ends a run whose strategy has made enough trials.
var errEnough = fmt.Errorf("enough trials: %w", ErrLimit)

// enoughFor is the number of trials that are enough for cells.
func enoughFor(cells []*cell) (n int) {
	for _, c := range cells {
		n += max(enoughTrials, len(c.trials)/pointsForTrial)
	}
	return n
}

// watchEvery is the number of trials after which an incumbent is measured again, so that a
// drift of the machine is seen (results/table tells it).
const watchEvery = 20

// measureChosen measures what strategies choose, one after another, until none has more.
// everything: they choose all.
func (r *run) measureChosen(ctx context.Context, all []*follower, everything bool) error {
	var estimated time.Time
	for open := true; open; {
		open = false
		for _, f := range all {
			if now := time.Now(); r.options.Progress != nil && now.Sub(estimated) >= time.Second {
				estimated, r.event.Left = now, r.left(all, everything)
			}
			next := f.next(r.batch())
			if len(next) == 0 {
				continue
			}
			if limit := r.limitNear(); limit != nil {
				return limit
			}
			if !r.fits(f.seconds(f.points[next[0]])) {
				return r.overBudget()
			}
			open = true
			if err := r.measure(ctx, next); err != nil {
				return err
			}
		}
	}
	return nil
}

// startFollowers starts a strategy in each placement's cells.
func (r *run) startFollowers(ctx context.Context, name string, cells []*cell) (all []*follower, err error) {
	for _, placement := range []string{"in", "out"} {
		of := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.placement != placement })
		if len(of) == 0 {
			continue
		}
		s := newSpace(of)
		f := &follower{space: s, cells: of, deterministic: r.deterministic}
		if name == Exhaustive {
			f.chooser = exhaustive{s}
		} else {
			if s.PriorUS, err = r.prior(ctx, s); err != nil {
				return nil, err
			}
			s.Cost = func(p model.Point) float64 { return f.costs().of(p) }
			f.chooser = model.New(&s.Space, model.Options{Seed: r.problem.Seed, Gain: cmp.Or(r.problem.Gain, DefaultGain), Exact: r.deterministic, Earlier: s.earlier(r.problem.Earlier)})
		}
		for i := range r.made {
			f.observed(r.made[i].trial, &r.made[i].record)
		}
		r.observers = append(r.observers, f.observed)
		all = append(all, f)
	}
	return all, nil
}

// observed adds a trial's outcome to the history.
func (f *follower) observed(t *trial, record *results.Trial) {
	if o, ok := f.observe(t, record); ok {
		f.history, f.cost, f.clock = append(f.history, o), nil, nil
	}
}

// costs are what the history says of the cost of trials.
func (f *follower) costs() *costs {
	if f.cost == nil {
		f.cost = costsOf(len(f.cells), f.history)
	}
	return f.cost
}

// seconds is what a trial of a point is expected to take of this machine's time.
func (f *follower) seconds(p model.Point) float64 {
	if f.clock == nil {
		f.clock = clocked(len(f.cells), f.history)
	}
	return f.clock.of(p)
}

// next returns at most n trials to measure.
func (f *follower) next(n int) (all []*trial) {
	for _, p := range f.Next(f.history, n) {
		all = append(all, f.trials[p.Config][p.Size])
	}
	if t := f.watched(); t != nil && len(all) > 0 {
		return []*trial{t}
	}
	return all
}

// watched returns the incumbent that was measured longest ago, where it is time to measure
// one again; else nil.
func (f *follower) watched() (oldest *trial) {
	if f.deterministic || len(f.history) == 0 || len(f.history)%watchEvery > 0 {
		return nil
	}
	last := map[model.Point]int{}
	for i, o := range f.history {
		last[o.Point] = i
	}
	for _, c := range f.cells {
		best := c.best[c.requiredClass]
		if best != nil && (oldest == nil || last[f.points[best]] < last[f.points[oldest]]) {
			oldest = best
		}
	}
	return oldest
}

// batch is the number of trials that are chosen at a time. It does not depend on the number
// of jobs. A trial that is measured runs alone, and is chosen by all before it.
func (r *run) batch() int {
	if r.deterministic {
		return batchSize
	}
	return 1
}

// measureBaselines measures what the vendor's library would run.
func (r *run) measureBaselines(ctx context.Context, cells []*cell) error {
	for _, i := range model.CoarseFirst(len(cells)) {
		var first []*trial
		for _, t := range cells[i].trials {
			if t.baseline && !t.done {
				first = append(first, t)
			}
		}
		if err := r.measure(ctx, first); err != nil {
			return err
		}
	}
	return nil
}

// limitNear returns a limit of the run once only the part for confirming is left of it.
func (r *run) limitNear() error {
	if r.deterministic {
		return r.limitReached(1)
	}
	part := 1 - forConfirming
	if r.enough > 0 {
		part = min(part, 1-float64(toConfirm*r.summary.Cells)/float64(r.enough))
	}
	return r.limitReached(part)
}
