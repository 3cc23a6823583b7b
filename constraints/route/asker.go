package route

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints"
)

// asker says how long solvers may work, and how they are asked: by the clock, all
// at once; or by the work they do, one after the other, so that the answer is the
// same on every machine:
//
//	by the clock   until 10:42:07      now() is the time          all solvers race
//	by work        until 7.5 s         now() is what was done     in order
type asker struct {
	ctx     context.Context
	net     *network  // for a walk: the network, if it is already known
	meter   *meter    // nil means by the clock
	until   time.Time // zero means no limit but the solvers' own
	atLeast bool      // R/C is known to be at least the bound's
	hopeful bool      // one chunk can be summed in as many steps
	kept    keeper
	mixed   bool // only look for a mix of courses
	// gathered keeps, during a walk, the courses found for sums, by number of
	// steps: see mixing.
	gathered map[int]*tollkeeper
	branches forest // the same for branchings of chunks that are copied
}

// keeper, if not nil, asks a formula that a solver keeps, before any solver is
// asked afresh. Timeout means that it did not settle the query.
type keeper func(p *problem, open [][]int) (Answer, error)

// meter adds up the work that solvers have done.
type meter struct{ done time.Duration }

// clockShare is how many times longer than its work a query may take by the clock,
// so that slow or busy machines get the same answer.
const clockShare = 8

// now is the current time, or the work done so far.
func (a asker) now() time.Time {
	if a.meter == nil {
		return time.Now()
	}
	return time.Unix(0, 0).Add(a.meter.done)
}

// left is the time or work that is left: an hour if there is no limit.
func (a asker) left() time.Duration {
	if a.until.IsZero() {
		return time.Hour
	}
	return a.until.Sub(a.now())
}

// within limits what is left to the given amount.
func (a asker) within(limit time.Duration) asker {
	a.until = a.now().Add(min(limit, a.left()))
	return a
}

// query limits what is left to what one query may take: the solvers' time limit,
// or so little work that the time limit is seldom met.
func (a asker) query(s *constraints.Solvers) asker {
	if a.meter != nil {
		return a.within(s.Timeout() / clockShare)
	}
	return a.within(s.Timeout())
}

// share limits what is left to a fraction of it. The rest is for later questions.
func (a asker) share(some, parts time.Duration) asker { return a.within(a.left() / parts * some) }

// bounding is the context for what needs no solver. By the clock it ends with the
// time; by work it does not, since bounds limit their own work.
func (a asker) bounding() (context.Context, context.CancelFunc) {
	if a.meter != nil || a.until.IsZero() {
		return context.WithCancel(a.ctx)
	}
	return context.WithDeadline(a.ctx, a.until)
}

// late reports whether an error only says that bounding's time was over.
func (a asker) late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && a.ctx.Err() == nil
}

// put has solvers answer a formula. If nothing is left, the answer is Timeout.
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

// count is put by work. It reports answers that depended on time all the same.
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

// or is text, or other if text is empty.
func or(text, other string) string {
	if text != "" {
		return text
	}
	return other
}
