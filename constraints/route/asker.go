package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints"
)

// asker is how solvers are asked: until when, and whether all at once by the clock,
// or one after the other by the work they do, so that the answer is the same on
// every machine:
//
//	by the clock   until 10:42:07      now() is the time          all solvers race
//	by work        until 7.5 s         now() is what was done     in order
type asker struct {
	ctx     context.Context
	net     *network  // of a walk: what was read off the topology already
	meter   *meter    // nil: by the clock
	until   time.Time // zero: no limit but the solvers' own
	atLeast bool      // R/C is known to be no less than the bound's
	hopeful bool      // one chunk can be summed in as many steps
	kept    keeper
	mixed   bool // a mix of courses will do, or nothing
	// gathered are the courses found for sums in so many steps, in a walk: see mixing.
	gathered map[int]*tollkeeper
	branches forest // of chunks that are copied, likewise
}

// keeper asks a formula that a solver keeps, before any other; Timeout is that it
// did not settle the query. Nil: there is none.
type keeper func(p *problem, open [][]int) (Answer, error)

// meter is the work that solvers have done for somebody.
type meter struct{ done time.Duration }

// clockShare is how much longer than the work a query is allowed the clock lets it
// run: on machines, or beside other work, that slow the answer is the same still.
const clockShare = 8

// now is the time, or what has been done.
func (a asker) now() time.Time {
	if a.meter == nil {
		return time.Now()
	}
	return time.Unix(0, 0).Add(a.meter.done)
}

// left is how much there is: an hour where there is no limit.
func (a asker) left() time.Duration {
	if a.until.IsZero() {
		return time.Hour
	}
	return a.until.Sub(a.now())
}

// within leaves so much of what is left.
func (a asker) within(limit time.Duration) asker {
	a.until = a.now().Add(min(limit, a.left()))
	return a
}

// query leaves what a query may take: the solvers' time limit, or such a part of it
// in work that time is seldom met.
func (a asker) query(s *constraints.Solvers) asker {
	if a.meter != nil {
		return a.within(s.Timeout() / clockShare)
	}
	return a.within(s.Timeout())
}

// share leaves some parts in so many of what is left, the rest of which is for what
// is asked after it.
func (a asker) share(some, parts time.Duration) asker { return a.within(a.left() / parts * some) }

// bounding is a context that ends when the time is over, for what needs no solver.
// By work it does not: bounds have limits of their own, which are no times.
func (a asker) bounding() (context.Context, context.CancelFunc) {
	if a.meter != nil || a.until.IsZero() {
		return context.WithCancel(a.ctx)
	}
	return context.WithDeadline(a.ctx, a.until)
}

// late tells whether an error is that bounding's time was over, and no more.
func (a asker) late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && a.ctx.Err() == nil
}

// put has solvers answer a formula. That there is nothing left is an answer too.
func (a asker) put(s *constraints.Solvers, st stated) (constraints.Answer, error) {
	by := s.Solvers()[0]
	suited := slices.Contains(s.Solvers(), st.suits)
	if suited {
		by = st.suits
	}
	if errors.Is(st.formula.Err(), constraints.ErrTooLarge) {
		return constraints.Answer{Status: constraints.Timeout, By: by, Counted: true, Detail: st.formula.Err().Error()}, nil
	}
	limit := a.left()
	if limit < time.Microsecond {
		return constraints.Answer{Status: constraints.Timeout, By: by, Detail: "no answer in time"}, a.ctx.Err()
	}
	if a.meter != nil {
		return a.count(s, st, suited, limit)
	}
	short, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	var got constraints.Answer
	var err error
	if st.only && suited {
		got, err = s.SolveBy(short, st.formula, st.suits)
	} else {
		got, err = s.Solve(short, st.formula)
	}
	if a.late(err) {
		return constraints.Answer{Status: constraints.Timeout, By: by, Detail: "no answer in time"}, nil
	}
	return got, err
}

// count is put by work. An answer that hung on time all the same is told.
func (a asker) count(s *constraints.Solvers, st stated, suited bool, limit time.Duration) (got constraints.Answer, err error) {
	if st.only && suited {
		got, err = s.SolveByWithin(a.ctx, limit, st.formula, st.suits)
	} else {
		got, err = s.SolveWithin(a.ctx, limit, st.formula, st.suits)
	}
	a.meter.done += got.Work
	if err == nil && !got.Counted {
		s.Notice(fmt.Sprintf("%s: %s met a limit (%s) before its work came to an end: a faster machine may find more", st.formula.Name, got.By, or(got.Detail, "of time")))
	}
	return got, err
}

// or is the first text that says something.
func or(text, other string) string {
	if text != "" {
		return text
	}
	return other
}
