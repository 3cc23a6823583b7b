package search

import (
	"context"
	"fmt"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
)

// Effort is how a campaign is run and how far; none of it changes the answer.
type Effort struct {
	Executors func() (executor.Executor, error)
	Jobs      int
	Trials    int           // at most this many new trials; 0: no limit
	Budget    time.Duration // 0: no limit
	Timeout   time.Duration // of a trial; 0: the executor's own
	Progress  func(autotune.Event)
}

// Run searches: it enumerates the problem's candidates, tunes them, and keeps
// everything in the campaign. Errors of autotune (a limit, an interrupt, a lost
// executor) leave a campaign that goes on when Run is called again.
func Run(ctx context.Context, p Problem, o Options, c *results.Campaign, how Effort) (autotune.Summary, error) {
	space, err := Enumerate(ctx, p, o)
	if err != nil {
		if ctx.Err() != nil {
			err = autotune.ErrInterrupted
		}
		return autotune.Summary{}, err
	}
	if space.contenders() == 0 {
		return autotune.Summary{}, &NothingFound{fmt.Sprintf("all of %d candidates were refused: %v", space.Enumerated, ByReason(space.Refusals))}
	}
	col, err := collective.New(p.spec(1))
	if err != nil {
		return autotune.Summary{}, err
	}
	bound, err := bounds.Of(p.Topology, col)
	if err != nil {
		return autotune.Summary{}, err
	}
	tally := results.Tally{
		Enumerated: space.Enumerated,
		Refused:    ByReason(space.Refusals),
		Points:     space.tallyPoints(&p, bound.TimeUS),
	}
	if !c.Finished() {
		// What a table of an unfinished campaign is compared with.
		if err := c.SetTally(tally); err != nil {
			return autotune.Summary{}, err
		}
	}
	problem := autotune.Problem{
		Topology: p.Topology, TopologyHash: p.Topology.Hash(), Sizes: p.Sizes, Protocols: o.Protocols,
		DType: p.DType, Op: p.Op, Iters: c.Plan().Iters, Warmup: c.Plan().Warmup, Seed: c.Plan().Seed,
	}
	if o.TileBytes > 0 {
		for i := range problem.Tiles {
			problem.Tiles[i] = []int64{o.TileBytes}
		}
	}
	summary, err := autotune.Run(ctx, problem, space.Candidates, autotune.Options{
		Executors: how.Executors, Jobs: how.Jobs, Campaign: c,
		Trials: how.Trials, Budget: how.Budget, Timeout: how.Timeout, Progress: how.Progress,
	})
	if err != nil {
		return summary, err
	}
	for reason, n := range summary.Refused {
		tally.Refused[reason] += n
	}
	tally.BoundedOut, tally.Tuned, tally.Finished = summary.BoundedOut, summary.Tuned, true
	return summary, c.SetTally(tally)
}

// contenders counts the candidates that can win.
func (s *Space) contenders() int {
	n := 0
	for i := range s.Candidates {
		if !s.Candidates[i].Reference {
			n++
		}
	}
	return n
}
