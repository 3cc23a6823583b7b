package route

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
)

// climb is a walk's way up the rungs of one number of steps.
type climb struct {
	p     *problem
	s     *constraints.Solvers
	w     Walk
	steps int
	asked int // queries that came to a solver
	kept  *kept
	alone bool // no formula is kept
}

// up asks for rung after rung until there is a routing: nil where there is none.
func (c *climb) up(ctx context.Context, ladder []rung) (*Point, error) {
	point := &Point{Steps: c.steps, Proved: true}
	var open leap
	var claims []claim
	found := false
	for i, try := range ladder {
		last := i+1 == len(ladder) || ladder[i+1].ratio.Cmp(try.ratio) != 0
		if open.over(try, last) {
			point.Skipped++
			continue
		}
		a, err := c.ask(ctx, try, c.keeper(ctx))
		if err != nil {
			return nil, err
		}
		if a.Status == constraints.Sat {
			point.Answer, point.Chunks, point.Rounds, found = a, try.chunks, try.rounds, true
			break
		}
		if a.claimed {
			claims = append(claims, claim{try, len(point.Refuted), c.kept.solver})
		}
		if a.Status == constraints.Timeout {
			point.Proved = false
			open.from(try)
		}
		point.Refuted = append(point.Refuted, Refuted{try.chunks, c.steps, try.rounds, a.Status, a.By, a.Seconds, a.Detail})
	}
	if err := c.confirm(ctx, point, claims); err != nil || !found {
		return nil, err
	}
	return point, nil
}

// ask answers one query of the walk, and tells.
func (c *climb) ask(ctx context.Context, try rung, keeper keeper) (Answer, error) {
	spec := c.p.Collective.Spec
	spec.Chunks = try.chunks / c.p.perChunk()
	coll, err := collective.New(spec)
	if err != nil {
		return Answer{}, err
	}
	q := Query{Topology: c.p.Topology, Collective: coll, Steps: c.steps, Rounds: try.rounds, Unit: c.p.net.unit}
	a, err := c.w.find(ctx, c.s, q, keeper)
	if err == nil && c.w.Tell != nil {
		c.w.Tell(try.chunks, c.steps, try.rounds, a)
	}
	return a, err
}

// find is Find within the walk's limit; a walk asks for no less than the bound on
// R/C.
func (w Walk) find(ctx context.Context, s *constraints.Solvers, q Query, keeper keeper) (Answer, error) {
	ask := asker{ctx: ctx, inOrder: w.InOrder, atLeast: true, hopeful: true, kept: keeper}
	if w.Each == 0 {
		return find(s, q, ask)
	}
	short, cancel := context.WithTimeout(ctx, w.Each)
	defer cancel()
	ask.ctx = short
	a, err := find(s, q, ask)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return Answer{Status: constraints.Timeout, Detail: fmt.Sprintf("no answer within %v", w.Each), Seconds: w.Each.Seconds()}, nil
	}
	return a, err
}

// rung is a number of rounds for a number of chunks.
type rung struct {
	chunks, rounds int
	ratio          *big.Rat
}

// leap is how far a walk goes on from a query that was not settled: what is a
// little larger is no easier. What has fewer chunks is, and the same R/C with as
// many chunks as can be may be.
type leap struct {
	rung
	to   *big.Rat // R/C below which nothing is asked
	wide int64    // in eighths of R/C, doubled each time
}

// from leaps from a rung, each time farther.
func (l *leap) from(r rung) {
	if l.to != nil && r.ratio.Cmp(l.ratio) == 0 {
		return // its like has leapt
	}
	l.rung, l.wide = r, max(1, 2*l.wide)
	l.to = new(big.Rat).Mul(r.ratio, big.NewRat(8+l.wide, 8))
}

// over tells whether a rung is leapt over; last, whether it is the one of most
// chunks with its R/C.
func (l *leap) over(r rung, last bool) bool {
	return l.to != nil && r.ratio.Cmp(l.to) < 0 && r.chunks >= l.chunks && !(last && r.ratio.Cmp(l.ratio) == 0)
}

// ladder lists what to try in so many steps, by rising R/C from the least there
// can be; of equals, the fewest chunks first.
func (p *problem) ladder(w Walk, steps int, least, best *big.Rat) []rung {
	var all []rung
	for _, c := range p.chunkCounts(w.Chunks) {
		for r := steps; r <= maxRound; r++ {
			ratio := big.NewRat(int64(r), int64(c))
			if ratio.Cmp(least) < 0 {
				continue
			}
			if best != nil && ratio.Cmp(best) >= 0 || best == nil && r > steps*(1+c)*p.net.ranks {
				break
			}
			all = append(all, rung{c, r, ratio})
		}
	}
	slices.SortStableFunc(all, func(a, b rung) int { return a.ratio.Cmp(b.ratio) })
	return all
}
