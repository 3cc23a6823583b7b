package route

import (
	"context"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
)

// climb is a walk's search for the smallest R/C in one number of steps.
type climb struct {
	p     *problem
	s     *constraints.Solvers
	w     Walk
	steps int
	asked int // queries that reached a solver
	kept  *kept
	alone bool // do not keep formulas
	// spare is the time left for queries that are leapt over: together as much as
	// was spent on the queries that caused the leap.
	spare time.Duration
	brief time.Duration // if not 0, the most that a query may take
}

// up asks for one rung after another until there is a routing. If there is none, or
// the context ends, the point is the foothold; it has no chunks where there is none
// of these.
func (c *climb) up(ctx context.Context, l *ladder) (*Point, error) {
	point := &Point{Steps: c.steps, Proved: true}
	var open leap
	var claims []claim
	var refuted known
	for {
		try, last, more := l.take()
		if !more {
			break
		}
		if err := ctx.Err(); err != nil {
			return point.unconfirmed(claims), err
		}
		if refuted.covers(try) {
			point.Followed++
			continue
		}
		over := open.over(try, last)
		a, err := c.ask(ctx, try, c.keeper(ctx), over)
		if err != nil {
			return point.unconfirmed(claims), err
		}
		if over && a.Status == constraints.Timeout {
			point.Skipped++
			continue
		}
		if a.Status == constraints.Sat {
			point.reach(try, a)
			break
		}
		switch {
		case a.claimed:
			claims = append(claims, claim{try, len(point.Refuted), c.kept.solver})
		case a.Status == constraints.Timeout:
			first := point.Proved && c.w.Work == 0
			point.Proved = false
			open.from(try)
			if first {
				if err := c.foothold(ctx, point, try, l); err != nil {
					return point.unconfirmed(claims), err
				}
			}
		default:
			refuted.add(try)
		}
		point.Refuted = append(point.Refuted, Refuted{try.chunks, c.steps, try.rounds, a.Status, a.By, a.Seconds, a.Detail})
	}
	return point, c.confirm(ctx, point, claims)
}

// ask answers one query of the walk, and reports it. A query that is leapt over is
// only tried as a mix of known courses or branchings, which costs little.
func (c *climb) ask(ctx context.Context, try rung, keeper keeper, over bool) (Answer, error) {
	if over && (c.spare <= 0 || !c.mixes()) {
		return Answer{Status: constraints.Timeout}, nil
	}
	spec := c.p.Collective.Spec
	spec.Chunks = try.chunks / c.p.perChunk()
	coll, err := collective.New(spec)
	if err != nil {
		return Answer{}, err
	}
	q := Query{Topology: c.p.Topology, Collective: coll, Steps: c.steps, Rounds: try.rounds, Unit: c.p.net.unit}
	ask := c.w.asker(ctx)
	from := ask.now()
	ask.net, ask.kept, ask.mixed = c.p.net, keeper, over
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
	case a.Status == constraints.Timeout:
		c.spare += took
	}
	if err == nil && c.w.Tell != nil && (!over || a.Status != constraints.Timeout) {
		c.w.Tell(try.chunks, c.steps, try.rounds, a)
	}
	return a, err
}

// mixes reports whether there are courses or branchings to mix.
func (c *climb) mixes() bool {
	b := c.w.branches.of(c.p.Collective.Name, c.steps)
	return c.w.gathered[c.steps] != nil || b != nil && b.known() > 0
}

// find is Find as a walk asks: R/C is known to be at least the bound.
func (w Walk) find(s *constraints.Solvers, q Query, ask asker) (Answer, error) {
	ask.atLeast, ask.hopeful, ask.gathered, ask.branches = true, true, w.gathered, w.branches
	return find(s, q, ask)
}

// asker is how a walk asks: each query may use only a part of its work.
func (w Walk) asker(ctx context.Context) asker {
	if w.Work == 0 {
		return asker{ctx: ctx}
	}
	ask := asker{ctx: ctx, meter: w.meter}
	ask.until = time.Unix(0, 0).Add(w.Work)
	return ask.within(w.Work / workShare)
}
