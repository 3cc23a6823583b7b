package search

import (
	"context"
	"errors"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
)

// Run searches: it enumerates the problem's candidates, tunes them, and keeps
// everything in the campaign. Errors of autotune (a limit, an interrupt, a lost
// executor) leave a campaign that goes on when Run is called again, and one
// with sizes that nothing has a result at is not finished either.
func Run(ctx context.Context, p Problem, o Options, c *results.Campaign, how Effort) (autotune.Summary, error) {
	if o.Timeout == 0 {
		o.Timeout = how.Timeout
	}
	if o.Jobs == 0 {
		o.Jobs = how.Jobs
	}
	started := time.Now()
	var err error
	if o.Capabilities, err = describeExecutor(ctx, how.Executors, o.Executor, &p); err != nil {
		return autotune.Summary{}, err
	}
	if o.Release == (library.Release{}) && !o.Unregistered {
		o.Release = CampaignRelease(c)
	}
	if _, note := o.LibraryRelease(p.Topology); note != "" {
		o.Observer.Say(note)
	}
	if how.Budget > 0 {
		o.Observer = o.Observer.Once() // it may go on with the same candidates several times
	}
	r, err := resolve(p, o)
	if err != nil {
		return autotune.Summary{}, err
	}
	s := &session{request: r, campaign: c, how: how, started: started, cache: newCache(c, &r.options, &r.problem, how.Budget > 0)}
	return s.run(ctx)
}

// run enumerates and tunes: all at once, or, with a budget, in rounds, each of which goes
// on with the candidates that the one before had no time for.
func (s *session) run(ctx context.Context) (_ autotune.Summary, err error) {
	if s.earlier, err = s.readEarlier(ctx); err != nil {
		return s.summary, err
	}
	for {
		space, err := s.enumerate(ctx)
		if err != nil {
			return s.summary, err
		}
		if len(space.unexplored) == 0 {
			return s.summary, s.tune(ctx, space)
		}
		if space.contenders() > 0 {
			err = s.tune(ctx, space)
		}
		var unanswered *autotune.UnansweredError // may be answered by what is left
		if err == nil || errors.As(err, &unanswered) {
			if s.left() > 0 {
				continue
			}
			err = s.overBudget()
		}
		s.options.Observer.Say("not looked at yet: " + space.unexploredText())
		return s.summary, err
	}
}

// enumerate makes the space. With a budget, it uses at most half of the remaining time
// and leaves out the rest.
func (s *session) enumerate(ctx context.Context) (*Space, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	var expired deadline
	if s.how.Budget > 0 {
		limited, cancel = context.WithTimeout(ctx, max(s.left(), 1))
		expired = halfOf(s.left(), time.Now())
	}
	defer cancel()
	space, err := enumerateOnce(limited, s.request, s.cache, expired)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, autotune.ErrInterrupted
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		err = s.overBudget()
	}
	if err == nil && len(space.unexplored) == 0 {
		s.cache.Enumerated()
	}
	for _, line := range s.cache.Notices() {
		s.options.Observer.Say(line)
	}
	return space, err
}
