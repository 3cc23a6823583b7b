package synth

import (
	"context"
	"time"

	"github.com/colltune/colltune/constraints/solver"
)

// A ratio search asks for the smallest R/C first, where routings are hardest to find and to
// refute. A query that is not settled may be the first of many, and a frontier search whose time
// ends among them would have nothing to show. So after the first one, a ratio search looks
// for any routing in as many steps: of few chunks, in ever more rounds.
//
//	(10,3,11) unsat   (20,3,22) timeout   ─▶   (1,3,3) sat   (2,3,3) sat: a foothold
//	                  (15,3,17) timeout   …    ratios from there on are not asked

const (
	// footholdCounts is how many numbers of chunks are tried for a foothold.
	footholdCounts = 4
	// footholdShare is the part of a query's time, one in so many, that a query for a
	// foothold gets; all of them together get no more than one query.
	footholdShare = 8
)

// foothold has the point reach what can be found soon above a ratio, and the queue end
// there. The error is the context's, or says that all solvers failed.
func (c *ratioSearch) foothold(ctx context.Context, point *Point, from rcRatio, l *ratioQueue) error {
	limit := c.s.Timeout()
	until := time.Now().Add(limit)
	c.brief = limit / footholdShare
	defer func() { c.brief = 0 }()
	counts := c.p.chunkCounts(c.w.Chunks)
	for _, chunks := range counts[:min(footholdCounts, len(counts))] {
		try := rcRatio{chunks, max(c.steps, (from.rounds*chunks-1)/from.chunks+1)}
		for l.contains(try) && time.Now().Before(until) {
			spare := c.spare
			a, err := c.ask(ctx, try, false)
			c.spare = spare
			if err != nil {
				return err
			}
			if a.Status == solver.Sat {
				point.reach(try, a)
				l.below = try.rat()
				break
			}
			if try.rounds++; a.Status == solver.Timeout {
				try.rounds += try.rounds / 4
			}
		}
	}
	return nil
}

// reach makes a routing that was found the point's.
func (pt *Point) reach(r rcRatio, a Answer) {
	pt.Answer, pt.Chunks, pt.Rounds = a, r.chunks, r.rounds
}
