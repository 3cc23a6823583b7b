package autotune

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/results"
)

// byModel chooses the baselines, from coarse sizes to fine ones, and then what a model expects
// to gain most, until it expects no more, or a limit is near. Where there is an incumbent in
// every cell by then, any end leaves a whole table.
type byModel struct {
	*tuner
	start     func(context.Context, *follower) error // gives a placement its model
	wholly    bool                                   // it measures everything
	baselines []*cell                                // whose baselines are not measured
	all       []*follower                            // by placement; nil before the baselines are measured
	turn      int                                    // whose it is
	estimated time.Time                              // when the time to the end was
}

func startByModel(r *tuner) chooser {
	b := newByModel(r, func(ctx context.Context, f *follower) (err error) {
		if f.PriorUS, err = f.prior(ctx, &r.problem, r.options.Jobs); err != nil {
			return err
		}
		f.Cost = func(p model.Point) float64 { return f.costs().of(p) }
		f.policy = model.New(&f.Space, model.Options{Seed: r.problem.Seed, Gain: cmp.Or(r.problem.Gain, DefaultGain), Exact: r.practice.exact, Earlier: f.earlier(r.problem.Earlier)})
		return nil
	})
	if r.options.Trials == 0 && r.options.Budget == 0 {
		r.enough = enoughFor(r.cells)
	}
	return b
}

func newByModel(r *tuner, start func(context.Context, *follower) error) *byModel {
	r.recall()
	b := &byModel{tuner: r, start: start}
	for _, i := range model.CoarseFirst(len(r.cells)) {
		b.baselines = append(b.baselines, r.cells[i])
	}
	return b
}

// Without --trials and --budget, the model ends after enoughTrials a size or, at sizes with
// more points, one trial for every pointsForTrial of them. Repetitions count. Where times
// scatter, telling the last contenders apart would take many more; the table says what is
// left to gain.
const (
	enoughTrials   = 8
	pointsForTrial = 45
)

// enoughFor is the number of trials that are enough for cells.
func enoughFor(cells []*cell) (n int) {
	for _, c := range cells {
		n += max(enoughTrials, len(c.trials)/pointsForTrial)
	}
	return n
}

// next gives the placements turns, until none has more.
func (b *byModel) next(ctx context.Context) ([]*trial, error) {
	for len(b.baselines) > 0 {
		first := slices.DeleteFunc(slices.Clone(b.baselines[0].trials), func(t *trial) bool { return !t.baseline || t.done })
		if b.baselines = b.baselines[1:]; len(first) > 0 {
			return first, nil
		}
	}
	if b.all == nil {
		if err := b.startAll(ctx); err != nil {
			return nil, err
		}
	}
	b.observe()
	for range b.all {
		if now := time.Now(); b.options.Progress != nil && now.Sub(b.estimated) >= time.Second {
			b.estimated, b.event.Left = now, timeLeft(b.tuner, b.all, b.wholly)
		}
		f := b.all[b.turn]
		b.turn = (b.turn + 1) % len(b.all)
		next := f.choose(b.practice.choices, b.practice.watchEvery)
		if len(next) == 0 {
			continue
		}
		if limit := b.limitNear(); limit != nil {
			return nil, limit
		}
		if !b.fits(f.seconds(f.at[next[0]])) {
			return nil, b.overBudget()
		}
		return next, nil
	}
	b.turn = 0
	return nil, nil
}

// files: a runtime gets the fastest of what was measured.
func (b *byModel) files(context.Context) ([]*trial, error) { return nil, nil }

// startAll starts a model in each placement's cells.
func (b *byModel) startAll(ctx context.Context) error {
	var all []*follower
	for _, placement := range []string{"in", "out"} {
		of := slices.DeleteFunc(slices.Clone(b.cells), func(c *cell) bool { return c.placement != placement })
		if len(of) == 0 {
			continue
		}
		f := &follower{space: newSpace(of), cells: of}
		if err := b.start(ctx, f); err != nil {
			return err
		}
		all = append(all, f)
	}
	b.all = all
	return nil
}

// observe tells the models what was measured since the last time.
func (b *byModel) observe() {
	for _, f := range b.all {
		f.observe(b.made)
	}
}

func (b *byModel) outlook() (finished int, all []results.Outlook) {
	b.observe()
	for _, f := range b.all {
		for _, o := range f.outlook() {
			all = append(all, o)
			if o.Done {
				finished++
			}
		}
	}
	return finished, all
}
