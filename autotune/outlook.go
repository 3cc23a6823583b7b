package autotune

import (
	"math"
	"time"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// outlook returns what is expected of each size.
func (f *follower) outlook() (all []results.Outlook) {
	costs := f.costs()
	for _, o := range f.Outlook(f.history) {
		c := f.cells[o.Size]
		line := results.Outlook{Bytes: c.bytes, Placement: c.placement, Gain: math.Round(o.Gain*1e6) / 1e6, Done: o.Done}
		if next := o.Next; !o.Done && o.Gain > 0 && f.trials[next.Config][next.Size] != nil {
			line.Next, line.NextSeconds = f.trials[next.Config][next.Size].title(), costs.of(next)
		}
		all = append(all, line)
	}
	return all
}

// title names a trial's configuration with its knobs.
func (t *trial) title() string {
	m := table.Measured{Trial: &t.record}
	return m.Title()
}

// What it takes to choose a size's winner, before it is known better, in trials.
const toChoose = 10 // until it is done, where no size is

// timeLeft estimates the time to the end of a run: sizes that are not done take as many trials
// as those that are, unless all is to be measured (wholly). It is at most what the limits leave.
func timeLeft(r *tuner, followers []*follower, wholly bool) time.Duration {
	seconds, trials := 0.0, 0
	for _, f := range followers {
		outlook := f.Outlook(f.history)
		made := make([]int, len(f.cells))
		for _, o := range f.history {
			made[o.Size]++
		}
		usual, done := 0, 0
		for _, o := range outlook {
			if o.Done {
				usual, done = usual+made[o.Size], done+1
			}
		}
		if usual = usual / max(done, 1); done == 0 {
			usual = toChoose
		}
		for _, o := range outlook {
			n := toConfirm
			switch {
			case o.Done:
			case wholly:
				for _, t := range f.cells[o.Size].trials {
					if !t.done && !t.reference {
						n++
					}
				}
			default:
				n += max(usual-made[o.Size], 1)
			}
			trials += n
			seconds += float64(n) * f.seconds(model.Point{Config: -1, Size: o.Size})
		}
	}
	limits := &r.options
	if limits.Trials > 0 {
		seconds *= min(1, float64(limits.Trials-r.summary.Trials)/float64(max(trials, 1)))
	}
	left := time.Duration(seconds * float64(time.Second))
	if limits.Budget > 0 {
		left = min(left, limits.Budget-time.Since(r.started))
	}
	return max(left, 0)
}
