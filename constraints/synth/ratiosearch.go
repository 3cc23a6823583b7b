package synth

import (
	"context"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
)

// ratioSearch is the search for the smallest R/C in one number of steps.
type ratioSearch struct {
	p     *problem
	s     *solver.Pool
	w     FrontierOptions
	steps int
	// spare is the time left for skipped queries: together as much as was spent on the
	// queries that caused the skip.
	spare time.Duration
	brief time.Duration // if not 0, the most that a query may take
}

// run asks for one ratio after another until there is a routing. If there is none, or the
// context ends, the point is the fallback (foothold.go); without a fallback it has no
// chunks.
func (c *ratioSearch) run(ctx context.Context, l *ratioQueue) (*Point, error) {
	point := &Point{Steps: c.steps, Proved: true}
	var open ratioSkip
	var refuted refutedSet
	for {
		try, last, more := l.next()
		if !more {
			break
		}
		if err := ctx.Err(); err != nil {
			return point, err
		}
		if refuted.covers(try) {
			point.Implied++
			continue
		}
		over := open.skips(try, last)
		a, err := c.ask(ctx, try, over)
		if err != nil {
			return point, err
		}
		if over && a.Status == solver.Timeout {
			point.Skipped++
			continue
		}
		if a.Status == solver.Sat {
			point.reach(try, a)
			break
		}
		switch {
		case a.Status == solver.Timeout:
			first := point.Proved && c.w.Work == 0
			point.Proved = false
			open.widen(try)
			if first {
				if err := c.foothold(ctx, point, try, l); err != nil {
					return point, err
				}
			}
		default:
			refuted.add(try)
		}
		point.Refuted = append(point.Refuted, Refuted{try.chunks, c.steps, try.rounds, a.Status, a.By, a.Seconds, a.Detail})
	}
	return point, nil
}

// ask answers one query, and reports it. A skipped query is only tried by column packing of
// the columns found so far, which takes little time.
func (c *ratioSearch) ask(ctx context.Context, try rcRatio, over bool) (Answer, error) {
	if over && (c.spare <= 0 || !c.mixes()) {
		return Answer{Status: solver.Timeout}, nil
	}
	spec := c.p.Collective.Spec
	spec.Chunks = try.chunks / c.p.perChunk()
	coll, err := collective.New(spec)
	if err != nil {
		return Answer{}, err
	}
	q := Query{Topology: c.p.Topology, Collective: coll, Steps: c.steps, Rounds: try.rounds, Unit: c.p.net.unit, Known: c.p.Known}
	ask := c.w.budget(ctx)
	from := ask.now()
	ask.net, ask.mixed = c.p.net, over
	switch {
	case over:
		ask = ask.within(c.spare)
	case c.brief > 0:
		ask = ask.within(c.brief)
	}
	a, err := c.w.find(c.s, q, ask)
	switch took := ask.now().Sub(from); {
	case over:
		c.spare -= took
	case a.Status == solver.Timeout:
		c.spare += took
	}
	if err == nil && c.w.OnAnswer != nil && (!over || a.Status != solver.Timeout) {
		c.w.OnAnswer(try.chunks, c.steps, try.rounds, a)
	}
	return a, err
}

// mixes reports whether there are columns to pack.
func (c *ratioSearch) mixes() bool {
	b := c.w.branches.of(c.p.Collective.Name, c.steps)
	return c.w.gathered[c.steps] != nil || b != nil && b.known() > 0
}

// find is Find for a query whose R/C is known to be at least the bound.
func (w FrontierOptions) find(s *solver.Pool, q Query, ask solveBudget) (Answer, error) {
	ask.atLeast, ask.hopeful, ask.gathered, ask.branches = true, true, w.gathered, w.branches
	return find(s, q, ask)
}

// budget returns the budget of a query: a part of the work of the frontier.
func (w FrontierOptions) budget(ctx context.Context) solveBudget {
	if w.Work == 0 {
		return solveBudget{ctx: ctx}
	}
	ask := solveBudget{ctx: ctx, meter: w.meter}
	ask.until = time.Unix(0, 0).Add(w.Work)
	return ask.within(w.Work / workShare)
}
