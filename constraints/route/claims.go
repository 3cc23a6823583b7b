package route

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints"
)

// A solver that keeps a formula refutes one rung after the other in it. What it
// says counts once all solvers have been asked again about the rungs that say
// most, of which the others follow: more chunks, in no more rounds.

// claim is a rung of a walk that was refuted in a formula that was kept.
type claim struct {
	rung
	at int        // among the point's Refuted
	by keptSolver // who claims it
}

// covers tells whether the claim says that of the other: more is asked for there,
// in no more time.
func (c claim) covers(o claim) bool { return c.chunks <= o.chunks && c.rounds >= o.rounds }

// strongest are the claims that no other covers.
func strongest(all []claim) []claim {
	return slices.DeleteFunc(slices.Clone(all), func(c claim) bool {
		return slices.ContainsFunc(all, func(o claim) bool { return o.at != c.at && o.covers(c) && !c.covers(o) })
	})
}

// keptShare is how much of a query's time a formula that is kept may take.
const keptShare = 8

// keeper is what a climb has kept: from its second query that comes to a solver
// on, as most have one only. Where a query is not settled in it, it is not asked
// any more.
func (c *climb) keeper(ctx context.Context) keeper {
	if c.alone || c.w.Work > 0 || !c.p.keeps() {
		return nil
	}
	return func(q *problem, open [][]int) (Answer, error) {
		if c.asked++; c.asked == 1 || c.alone {
			return Answer{Status: constraints.Timeout}, nil
		}
		if c.kept == nil || !c.kept.fits(q) {
			if err := c.keep(q.until, q); err != nil {
				return Answer{}, err
			}
		}
		if c.kept == nil {
			return Answer{Status: constraints.Timeout}, nil
		}
		a, err := c.kept.ask(ctx, c.s.Timeout()/keptShare, q, open)
		var fault *constraints.SolverError
		if errors.As(err, &fault) { // the others answer
			a, err = Answer{Status: constraints.Timeout}, nil
		}
		c.alone = c.alone || a.Status == constraints.Timeout
		return a, err
	}
}

// keep has a formula kept for the walk's chunks, with rounds to spare.
func (c *climb) keep(ctx context.Context, q *problem) error {
	c.forget()
	chunks := max(c.w.Chunks-c.w.Chunks%c.p.perChunk(), q.Collective.Chunks*c.p.perChunk())
	rounds := min(maxRound, 2*q.Rounds*chunks/(q.Collective.Chunks*c.p.perChunk()))
	k, err := c.p.keep(ctx, c.s, chunks, c.steps, max(rounds, q.Rounds))
	if c.kept = k; k == nil {
		c.alone = true
	}
	return err
}

func (c *climb) forget() {
	if c.kept != nil {
		c.kept.solver.Close()
		c.kept = nil
	}
}

// errDenied is that a routing was found where a formula that was kept was said to
// have none.
var errDenied = errors.New("a routing where none was said to be")

// confirm has the strongest claims proved, and says of the others which they
// follow from. What is not settled in time is open again.
func (c *climb) confirm(ctx context.Context, point *Point, claims []claim) error {
	var proofs []Answer
	strong := strongest(claims)
	for _, one := range strong {
		a, err := c.ask(ctx, one.rung, nil, false)
		if err != nil {
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
			r.Detail = "refuted in a formula that was kept, which was not confirmed in time"
		case strong[at].at == one.at:
			r.Seconds, r.Detail = a.Seconds, a.Detail
		default:
			r.Detail = fmt.Sprintf("as (%d,%d,%d) is", strong[at].chunks, c.steps, strong[at].rounds)
		}
	}
	return nil
}
