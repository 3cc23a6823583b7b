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

// solveBudget limits solvers: by time, in which case they run in parallel; or by work, in
// which case they run one after the other, so that the answer is the same on every machine:
//
//	by time   until 10:42:07      now() is the time             in parallel
//	by work   until 7.5 s         now() is the work done        in order
type solveBudget struct {
	ctx     context.Context
	net     *network  // for a frontier: the network, if it is already built
	meter   *meter    // nil means by time
	until   time.Time // zero means only the solvers' time limit
	atLeast bool      // R/C is known to be at least the bound's
	hopeful bool      // one chunk can be summed in as many steps
	mixed   bool      // only look for a mix of courses
	// gathered keeps, during a frontier search, the courses found for sums, by number of
	// steps: see mixing.
	gathered map[int]*tollkeeper
	branches forest // the same for branchings of chunks that are copied
}

// meter is the work that solvers have done.
type meter struct{ done time.Duration }

// clockShare is the ratio of a query's time limit to its work limit, so that slow or busy
// machines get the same answer.
const clockShare = 8

// now returns the current time, or the work done so far as a time.
func (a solveBudget) now() time.Time {
	if a.meter == nil {
		return time.Now()
	}
	return time.Unix(0, 0).Add(a.meter.done)
}

// left returns the time or work that is left: an hour if there is no limit.
func (a solveBudget) left() time.Duration {
	if a.until.IsZero() {
		return time.Hour
	}
	return a.until.Sub(a.now())
}

// within limits the budget to an amount.
func (a solveBudget) within(limit time.Duration) solveBudget {
	a.until = a.now().Add(min(limit, a.left()))
	return a
}

// query limits the budget to that of one query: the solvers' time limit, or an amount of
// work for which the time limit is seldom met.
func (a solveBudget) query(s *solver.Pool) solveBudget {
	if a.meter != nil {
		return a.within(s.Timeout() / clockShare)
	}
	return a.within(s.Timeout())
}

// share limits the budget to a fraction of it.
func (a solveBudget) share(some, parts time.Duration) solveBudget {
	return a.within(a.left() / parts * some)
}

// boundContext returns the context for bounds. With a limit on time it ends then; with a
// limit on work it does not, because bounds limit their own work.
func (a solveBudget) boundContext() (context.Context, context.CancelFunc) {
	if a.meter != nil || a.until.IsZero() {
		return context.WithCancel(a.ctx)
	}
	return context.WithDeadline(a.ctx, a.until)
}

// onlyLate reports whether an error only means that boundContext ended.
func (a solveBudget) onlyLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && a.ctx.Err() == nil
}

// ask has solvers answer a formula. If nothing is left, the answer is Timeout.
func (a solveBudget) ask(s *solver.Pool, st encoding) (solver.Answer, error) {
	by := s.Solvers()[0]
	suited := slices.Contains(s.Solvers(), st.preferred)
	if suited {
		by = st.preferred
	}
	if errors.Is(st.formula.Err(), constraints.ErrTooLarge) {
		return solver.Answer{Status: solver.Timeout, By: by, Counted: true, Detail: st.formula.Err().Error()}, nil
	}
	limit := a.left()
	if limit < time.Microsecond {
		return solver.Answer{Status: solver.Timeout, By: by, Detail: "no answer in time"}, a.ctx.Err()
	}
	if a.meter != nil {
		return a.askByWork(s, st, suited, limit)
	}
	short, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	var got solver.Answer
	var err error
	if st.only && suited {
		got, err = s.SolveBy(short, st.formula, st.preferred)
	} else {
		got, err = s.Solve(short, st.formula)
	}
	if a.onlyLate(err) {
		return solver.Answer{Status: solver.Timeout, By: by, Detail: "no answer in time"}, nil
	}
	return got, err
}

// askByWork is ask with a limit on work. It sends a notice if a time limit was met.
func (a solveBudget) askByWork(s *solver.Pool, st encoding, suited bool, limit time.Duration) (got solver.Answer, err error) {
	if st.only && suited {
		got, err = s.SolveByWithin(a.ctx, limit, st.formula, st.preferred)
	} else {
		got, err = s.SolveWithin(a.ctx, limit, st.formula, st.preferred)
	}
	a.meter.done += got.Work
	if err == nil && !got.Counted {
		s.Notice(fmt.Sprintf("%s: %s met a limit (%s) before its work came to an end: a faster machine may find more", st.formula.Name, got.By, orText(got.Detail, "of time")))
	}
	return got, err
}

// orText returns text, or other if text is empty.
func orText(text, other string) string {
	if text != "" {
		return text
	}
	return other
}
