package autotune

import "github.com/colltune/colltune/autotune/model"

// policy says which points of a space to measure next.
type policy interface {
	// Next returns at most n points, none if no more are to be measured. Points of the history
	// may be among them: they are measured again.
	Next(history []model.Observation, n int) []model.Point
	// Outlook returns what is to be expected, by size.
	Outlook(history []model.Observation) []model.Outlook
}

// follower is the model of a placement, and what it knows.
type follower struct {
	*space
	policy
	cells   []*cell
	seen    int // of the outcomes of the run
	history []model.Observation
	cost    *costs // of the history; nil once that has grown
	clock   *costs // the same, by the clock
}

// observe adds further outcomes of the run to the history.
func (f *follower) observe(all []outcome) {
	for i := range all[f.seen:] {
		made := &all[f.seen+i]
		if o, ok := f.observation(made.trial, &made.record); ok {
			f.history, f.cost, f.clock = append(f.history, o), nil, nil
		}
	}
	f.seen = len(all)
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

// choose returns at most n trials to measure, or the incumbent that was measured longest ago,
// where as many trials were made that it is time to measure one again.
func (f *follower) choose(n, watchEvery int) (all []*trial) {
	for _, p := range f.Next(f.history, n) {
		all = append(all, f.trials[p.Config][p.Size])
	}
	if len(all) > 0 && watchEvery > 0 && len(f.history) > 0 && len(f.history)%watchEvery == 0 {
		if t := f.stalest(); t != nil {
			return []*trial{t}
		}
	}
	return all
}

// stalest returns the incumbent that was measured longest ago; nil: there is none.
func (f *follower) stalest() (oldest *trial) {
	last := map[model.Point]int{}
	for i, o := range f.history {
		last[o.Point] = i
	}
	for _, c := range f.cells {
		best := c.best[c.requiredClass]
		if best != nil && (oldest == nil || last[f.at[best]] < last[f.at[oldest]]) {
			oldest = best
		}
	}
	return oldest
}
