package search

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/program"
)

// Effort is how a campaign is run and how far; none of it changes the answer.
type Effort struct {
	Executors *executor.Pool // whoever made it closes it
	Jobs      int
	Trials    int           // at most this many new trials; 0: no limit
	Budget    time.Duration // 0: no limit
	Timeout   time.Duration // of a trial, which the executors see to, and of a solver's query; 0: their own
	Progress  func(autotune.Event)
}

// newCache is the cache of a campaign for a search with a description of its executor. repeat says
// that it enumerates several times.
func newCache(c *results.Campaign, o *Options, p *Problem, repeat bool) *program.Cache {
	release, _ := o.LibraryRelease(p.Topology)
	depends := fmt.Sprintf("%s %v %v %v %v %d %s", c.Plan().Hash(), o.Timeout, o.known().NativeOnly, o.chooses(p.Collective), o.Baseline != nil, o.Memory, release)
	return program.NewCache(c, depends, repeat)
}

// session is a search under way.
type session struct {
	*request
	campaign *results.Campaign
	how      Effort
	started  time.Time
	cache    *program.Cache
	earlier  []autotune.Earlier // what it learns from other campaigns
	summary  autotune.Summary
}

func (s *session) left() time.Duration { return s.how.Budget - time.Since(s.started) }

func (s *session) overBudget() error {
	return &autotune.LimitError{Limit: "budget", Value: s.how.Budget.String()}
}

// nameLimit puts the limit that the user gave into an error, for the rest that a round had.
func (s *session) nameLimit(err error) error {
	var limit *autotune.LimitError
	if errors.As(err, &limit) {
		limit.Value = map[string]string{"budget": s.how.Budget.String(), "trials": strconv.Itoa(s.how.Trials)}[limit.Limit]
	}
	return err
}

// add adds the trials of earlier rounds, which a round finds in the journal, to its
// summary, which becomes the search's.
func (s *session) add(round autotune.Summary) {
	before := s.summary
	s.summary = round
	s.summary.Trials += before.Trials
	s.summary.Again += before.Again
	s.summary.Known = max(round.Known-before.Trials, 0)
	if s.summary.Changed == nil {
		s.summary.Changed = before.Changed
	}
}

// readEarlier returns what the search learns from other campaigns. Of one that another
// executor measured it learns nothing: before the first trial that is an error.
func (s *session) readEarlier(ctx context.Context) (all []autotune.Earlier, err error) {
	o := &s.options
	if len(o.Earlier) == 0 && o.Gain == 0 {
		return nil, nil
	}
	d, err := s.how.Executors.Describe(ctx)
	if err != nil {
		return nil, err
	}
	if name := autotune.StrategyOf(o.Strategy, d.Deterministic); name != autotune.MeasuredStrategy {
		return nil, &StrategyError{fmt.Errorf("--gain and --learn-from concern the strategy %s only, not %s: leave them out, or give --strategy %s", autotune.MeasuredStrategy, name, autotune.MeasuredStrategy)}
	}
	own := autotune.ExecutorOf(d)
	for i := range o.Earlier {
		e := &o.Earlier[i]
		fingerprint, times, err := e.read()
		switch {
		case err != nil:
			return nil, err
		case fingerprint == own.Hash():
			all = append(all, times...)
		case len(s.campaign.Trials()) == 0:
			return nil, &StrategyError{fmt.Errorf("--learn-from %s: measured on another executor, device or driver than %s here: its times say nothing of this one's", e.Name, own.Name)}
		default:
			o.Observer.Say(fmt.Sprintf("nothing is learned from %s, which another executor, device or driver measured", e.Name))
		}
	}
	return all, nil
}
