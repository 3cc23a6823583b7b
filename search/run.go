package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	Timeout   time.Duration // of a trial, which the executors see to, and of a solver's query; 0: their own
	Progress  func(autotune.Event)
}

// Run searches: it enumerates the problem's candidates, tunes them, and keeps
// everything in the campaign. Errors of autotune (a limit, an interrupt, a lost
// executor) leave a campaign that goes on when Run is called again, and one
// with sizes that nothing has a result at is not finished either.
func Run(ctx context.Context, p Problem, o Options, c *results.Campaign, how Effort) (autotune.Summary, error) {
	if o.Timeout == 0 {
		o.Timeout = how.Timeout
	}
	if o.Jobs == 0 {
		o.Jobs = how.Jobs
	}
	start := time.Now()
	executors := &acquaintance{make: how.Executors}
	defer executors.dismiss()
	if err := o.meet(ctx, executors, &p); err != nil {
		return autotune.Summary{}, err
	}
	o.enabled(p.Topology)
	space, err := o.enumerateIn(ctx, c, &p, how.Budget)
	if err != nil {
		return autotune.Summary{}, err
	}
	asked := how.Budget
	if asked > 0 {
		how.Budget = max(asked-time.Since(start), 1)
	}
	if space.contenders() == 0 {
		return autotune.Summary{}, refusedAll(space)
	}
	if err := p.Define(&o); err != nil {
		return autotune.Summary{}, err
	}
	col, err := collective.New(p.spec(1))
	if err != nil {
		return autotune.Summary{}, err
	}
	bound, err := bounds.Of(p.Topology, col)
	if err != nil {
		return autotune.Summary{}, err
	}
	leastUS := bound.TimeUS
	if o.BackEnd.OtherLinks {
		leastUS = nil
		o.notice(fmt.Sprintf("%s does not join the ranks by the links of %s: no bound is known for its times", o.BackEnd.Name, p.Topology.Name))
	}
	tally := results.Tally{
		Enumerated: space.Enumerated,
		Refused:    ByReason(space.Refusals),
		Points:     space.tallyPoints(&p, leastUS),
	}
	if o.Baseline != nil {
		measured, err := o.Baseline.Measured(&p)
		if err != nil {
			return autotune.Summary{}, err
		}
		for i := range tally.Points {
			at := &tally.Points[i]
			if us, ok := measured.At(at.Bytes, at.Placement); ok {
				at.Baseline = &results.Baseline{Name: measured.Name, TimeUS: us}
			}
		}
	}
	if !c.Finished() {
		// What a table of an unfinished campaign is compared with.
		if err := c.SetTally(tally); err != nil {
			return autotune.Summary{}, err
		}
	}
	problem := autotune.Problem{
		Topology: p.Topology, TopologyHash: p.Topology.Hash(), Sizes: p.Sizes, Protocols: o.Protocols,
		Runtime: o.Runtime, LeastUS: leastUS, OtherLinks: o.BackEnd.OtherLinks,
		DType: p.DType, Op: p.Op, Iters: c.Plan().Iters, Warmup: c.Plan().Warmup, Seed: c.Plan().Seed,
	}
	if o.TileBytes > 0 {
		for i := range problem.Tiles {
			problem.Tiles[i] = []int64{o.TileBytes}
		}
	}
	summary, err := autotune.Run(ctx, problem, space.Candidates, autotune.Options{
		Executors: executors.take, Jobs: how.Jobs, Campaign: c,
		Trials: how.Trials, Budget: how.Budget, Deadline: how.Timeout, Progress: how.Progress,
	})
	var limit *autotune.LimitError
	if errors.As(err, &limit) && limit.Limit == "budget" {
		limit.Value = asked.String() // not what the enumeration left of it
	}
	var unanswered *autotune.UnansweredError
	if err != nil && !errors.As(err, &unanswered) {
		return summary, err
	}
	for reason, n := range summary.Refused {
		tally.Refused[reason] += n
	}
	tally.BoundedOut, tally.Tuned, tally.Finished = summary.BoundedOut, summary.Tuned, err == nil
	return summary, errors.Join(err, c.SetTally(tally))
}

// enumerateIn makes the space, or takes what the campaign keeps of it, which is
// verified again; either takes its part of the budget.
func (o *Options) enumerateIn(ctx context.Context, c *results.Campaign, p *Problem, budget time.Duration) (*Space, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if budget > 0 {
		limited, cancel = context.WithTimeout(ctx, budget)
	}
	defer cancel()
	key, unknown := memoryKey(c.Plan(), o, p.Collective)
	var known *memory
	if unknown == nil {
		known = recall(limited, c, key, p, o)
	}
	space, err := enumerateOr(limited, *p, *o, known)
	switch {
	case err == nil && (unknown != nil || known != nil):
		return space, nil
	case err == nil:
		err := space.keep(c, key)
		if err != nil && !errors.Is(err, results.ErrReadOnly) {
			// Nothing that a search that goes on can't make again.
			o.notice(fmt.Sprintf("the candidates could not be kept, and a search that goes on makes them again: %v", err))
			err = nil
		}
		return space, err
	case ctx.Err() != nil:
		return nil, autotune.ErrInterrupted
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, &autotune.LimitError{Limit: "budget", Value: budget.String()}
	}
	return nil, err
}

// refusedAll says why each of a space's candidates was refused, a few by name: of
// each reason the first, and then others.
func refusedAll(s *Space) error {
	const named = 5
	var first, others []Refusal
	seen := map[Reason]bool{}
	for _, r := range s.Refusals {
		if seen[r.Reason] {
			others = append(others, r)
		} else {
			first = append(first, r)
		}
		seen[r.Reason] = true
	}
	var why []string
	for i, r := range append(first, others...) {
		if i == named {
			why = append(why, fmt.Sprintf("and %d more (-v names them)", len(s.Refusals)-named))
			break
		}
		why = append(why, r.String())
	}
	return &NothingFound{"every candidate was refused: " + strings.Join(why, "; ")}
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
