package synth

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints"
)

// A frontier search can ask one kept formula about ratio after ratio, but a refutation from it
// is only a claim. So at the end all solvers are asked afresh about the strongest
// claims, from which the others follow: more chunks in no more rounds.

// claim is a ratio of a frontier search that a kept formula refuted.
type claim struct {
	rcRatio
	at int        // index in the point's Refuted
	by keptSolver // the solver that claims it
}

// covers reports whether the other claim follows from this one: it asks for at least
// as many chunks in no more rounds.
func (c claim) covers(o claim) bool { return c.chunks <= o.chunks && c.rounds >= o.rounds }

// strongest lists the claims that follow from no other.
func strongest(all []claim) []claim {
	return slices.DeleteFunc(slices.Clone(all), func(c claim) bool {
		return slices.ContainsFunc(all, func(o claim) bool { return o.at != c.at && o.covers(c) && !c.covers(o) })
	})
}

// keptShare is the part of a query's time, one in so many, that a kept formula
// gets.
const keptShare = 8

// keeper returns the kept formula of a ratio search, beginning with its second query that
// reaches a solver, because most of them have only one. After a query that it does
// not settle, it is not asked any more.
func (c *ratioSearch) keeper(ctx context.Context) keeper {
	if c.alone || c.w.Work > 0 || !c.p.keeps() {
		return nil
	}
	return func(q *problem, open [][]int) (Answer, error) {
		if c.asked++; c.asked == 1 || c.alone {
			return Answer{Status: constraints.Timeout}, nil
		}
		if c.kept == nil || !c.kept.fits(q) {
			if err := c.keep(q.ctx, q); err != nil {
				return Answer{}, err
			}
		}
		if c.kept == nil {
			return Answer{Status: constraints.Timeout}, nil
		}
		a, err := c.kept.ask(ctx, c.s.Timeout()/keptShare, q, open)
		var fault *constraints.SolverError
		if errors.As(err, &fault) { // the other solvers answer instead
			a, err = Answer{Status: constraints.Timeout}, nil
		}
		c.alone = c.alone || a.Status == constraints.Timeout
		return a, err
	}
}

// keep states and keeps a formula large enough for the search's chunks, with some
// rounds to spare.
func (c *ratioSearch) keep(ctx context.Context, q *problem) error {
	c.forget()
	chunks := max(c.w.Chunks-c.w.Chunks%c.p.perChunk(), q.Collective.Chunks*c.p.perChunk())
	rounds := min(maxRound, 2*q.Rounds*chunks/(q.Collective.Chunks*c.p.perChunk()))
	k, err := c.p.keep(ctx, c.s, chunks, c.steps, max(rounds, q.Rounds))
	if c.kept = k; k == nil {
		c.alone = true
	}
	return err
}

func (c *ratioSearch) forget() {
	if c.kept != nil {
		c.kept.solver.Close()
		c.kept = nil
	}
}

// errDenied says that a routing was found where a kept formula claimed that there
// is none.
var errDenied = errors.New("a routing where none was said to be")

// unconfirmed takes back what was claimed, as there is no time left to have it proved.
func (pt *Point) unconfirmed(claims []claim) *Point {
	for _, one := range claims {
		pt.Proved = false
		r := &pt.Refuted[one.at]
		r.Status, r.Detail = constraints.Timeout, notConfirmed
	}
	return pt
}

const notConfirmed = "refuted in a formula that was kept, which was not confirmed in time"

// confirm has the strongest claims proved, and records which of them the others
// follow from. Claims that are not settled in time become open again.
func (c *ratioSearch) confirm(ctx context.Context, point *Point, claims []claim) error {
	var proofs []Answer
	strong := strongest(claims)
	for _, one := range strong {
		a, err := c.ask(ctx, one.rcRatio, nil, false)
		if err != nil {
			point.unconfirmed(claims)
			return err
		}
		if a.Status == constraints.Sat {
			one.by.Deny(fmt.Sprintf("%s in %d steps with %d chunks and %d rounds", c.p.Collective.Name, c.steps, one.chunks, one.rounds), a.By)
			c.alone = true
			return errDenied
		}
		proofs = append(proofs, a)
	}
	for _, one := range claims {
		at := slices.IndexFunc(strong, func(o claim) bool { return o.covers(one) })
		r, a := &point.Refuted[one.at], proofs[at]
		r.By, r.Status = a.By, a.Status
		switch {
		case a.Status == constraints.Timeout:
			point.Proved = false
			r.Detail = notConfirmed
		case strong[at].at == one.at:
			r.Seconds, r.Detail = a.Seconds, a.Detail
		default:
			r.Detail = fmt.Sprintf("as (%d,%d,%d) is", strong[at].chunks, c.steps, strong[at].rounds)
		}
	}
	return nil
}
