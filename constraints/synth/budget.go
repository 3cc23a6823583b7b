package synth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// solveBudget limits what a query may take: until a deadline, with solvers side by side; or an
// amount of counted work, with solvers one after the other, so that the answer is the same on
// every machine. The zero value limits nothing.
type solveBudget struct {
	deadline time.Time // zero: none
	work     *work     // nil: not counted
}

// work is counted in the time that it takes on a quiet machine.
type work struct {
	left time.Duration
	of   *work // what this is a part of, or nil
}

// clockShare is the ratio of a query's time limit to its work limit, so that slow or busy
// machines get the same answer within a time limit that was asked for.
const clockShare = 8

// left returns the time or work that is left: an hour if there is no limit.
func (b solveBudget) left() time.Duration {
	switch {
	case b.work != nil:
		left := b.work.left
		for w := b.work.of; w != nil; w = w.of {
			left = min(left, w.left)
		}
		return left
	case !b.deadline.IsZero():
		return time.Until(b.deadline)
	}
	return time.Hour
}

func (b solveBudget) within(limit time.Duration) solveBudget {
	limit = min(limit, b.left())
	if b.work != nil {
		return solveBudget{work: &work{limit, b.work}}
	}
	return solveBudget{deadline: time.Now().Add(limit)}
}

// query returns the part for one query: the solvers' time limit, or an amount of work for
// which the time limit is seldom met.
func (b solveBudget) query(s *solver.Pool) solveBudget {
	if b.work != nil {
		return b.within(s.Timeout() / clockShare)
	}
	return b.within(s.Timeout())
}

func (b solveBudget) share(some, parts time.Duration) solveBudget {
	return b.within(b.left() / parts * some)
}

// spend counts work.
func (b solveBudget) spend(done time.Duration) {
	for w := b.work; w != nil; w = w.of {
		w.left -= done
	}
}

// context returns the context for bounds. It ends with the deadline; work does not end it,
// because bounds limit their own.
func (b solveBudget) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, b.deadline)
}

// spent reports whether the deadline, or ctx, has ended.
func (b solveBudget) spent(ctx context.Context) bool {
	return ctx.Err() != nil || b.work == nil && b.left() <= 0
}

// onlyLate reports whether an error only means that the budget's deadline has passed.
func onlyLate(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// inTime is the Detail of a query whose deadline has passed; answer names its limit.
const inTime = "no answer in time"

// solve has solvers answer a formula, the preferred one first where work is counted. If
// nothing is left, the answer is Timeout.
func (b solveBudget) solve(ctx context.Context, s *solver.Pool, f *constraints.Formula, preferred string) (solver.Answer, error) {
	by := s.Solvers()[0]
	if slices.Contains(s.Solvers(), preferred) {
		by = preferred
	}
	late := solver.Answer{Status: solver.Timeout, By: by, Detail: inTime}
	if errors.Is(f.Err(), constraints.ErrTooLarge) {
		late.Counted, late.Detail = true, f.Err().Error()
		return late, nil
	}
	limit := b.left()
	if limit < time.Microsecond {
		return late, ctx.Err()
	}
	if b.work == nil {
		short, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		got, err := s.Solve(short, f)
		if onlyLate(ctx, err) {
			return late, nil
		}
		return got, err
	}
	got, err := s.SolveWithin(ctx, limit, f, preferred)
	b.spend(got.Work)
	if err == nil && !got.Counted {
		why := got.Detail
		if why == "" {
			why = "of time"
		}
		s.Notice(fmt.Sprintf("%s: %s met a limit (%s) before its work came to an end: with a longer limit, or on a faster machine, it may find more", f.Name, got.By, why))
	}
	return got, err
}
