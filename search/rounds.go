package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
)

// searching is a search under way.
type searching struct {
	problem   Problem
	options   Options
	campaign  *results.Campaign
	how       Effort
	executors *acquaintance
	started   time.Time
	begun     *begun
	summary   autotune.Summary
}

// run enumerates and tunes: all in one go, or, where there is a budget, what there is
// time for, and then what was left of it.
func (s *searching) run(ctx context.Context) (autotune.Summary, error) {
	for {
		space, err := s.enumerate(ctx)
		if err != nil {
			return s.summary, err
		}
		if space.unlooked == "" {
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
		s.options.notice("not looked at yet: " + space.unlooked)
		return s.summary, err
	}
}

// left is what is left of the budget.
func (s *searching) left() time.Duration { return s.how.Budget - time.Since(s.started) }

func (s *searching) overBudget() error {
	return &autotune.LimitError{Limit: "budget", Value: s.how.Budget.String()}
}

// enumerate makes the space, or takes what the campaign keeps of it, which is verified
// again. Where there is a budget, what half of its rest leaves no time for is not looked
// at; in all it never takes more than the rest.
func (s *searching) enumerate(ctx context.Context) (*Space, error) {
	p, o, c := &s.problem, &s.options, s.campaign
	limited, cancel := ctx, context.CancelFunc(func() {})
	if s.how.Budget > 0 {
		limited, cancel = context.WithTimeout(ctx, max(s.left(), 1))
		s.begun.late = halfOf(s.left(), time.Now())
	}
	defer cancel()
	key, unknown := memoryKey(c.Plan(), o, p.Collective)
	var known *memory
	if unknown == nil {
		known = recall(limited, c, key, p, o)
	}
	if unknown == nil && known == nil && s.begun.file == nil {
		switch file, err := c.Begin(limited, key); {
		case err == nil:
			s.begun.file = file
		case limited.Err() == nil && !errors.Is(err, results.ErrReadOnly):
			o.notice(notKept(err))
		}
	}
	before := s.begun.unkept
	space, err := enumerateOr(limited, *p, *o, known, s.begun)
	if why := s.begun.unkept; why != nil && before == nil {
		o.notice(notKept(why))
	}
	switch {
	case err == nil && (unknown != nil || known != nil || space.unlooked != ""):
		return space, nil
	case err == nil:
		return space, s.keep(space, key)
	case ctx.Err() != nil:
		return nil, autotune.ErrInterrupted
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, s.overBudget()
	}
	return nil, err
}

// notKept says why a search that is cut short makes more again than it might.
func notKept(why error) string {
	return fmt.Sprintf("what is enumerated is not kept until all is: %v", why)
}

// keep keeps what was enumerated to its end, and no longer what had begun.
func (s *searching) keep(space *Space, key string) error {
	err := space.keep(s.campaign, key)
	if errors.Is(err, results.ErrReadOnly) {
		return err
	}
	s.begun.close()
	if err := errors.Join(err, s.campaign.Forget()); err != nil {
		// Nothing that a search that goes on can't make again.
		s.options.notice(fmt.Sprintf("the candidates could not be kept, and a search that goes on makes them again: %v", err))
	}
	return nil
}
