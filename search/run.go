package search

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	executors := &acquaintance{make: how.Executors}
	defer executors.dismiss()
	started := time.Now()
	if err := o.meet(ctx, executors, &p); err != nil {
		return autotune.Summary{}, err
	}
	o.enabled(p.Topology)
	if how.Budget > 0 {
		o = o.once() // it may go on with the same candidates several times
	}
	s := &searching{problem: p, options: o, campaign: c, how: how, executors: executors, started: started, begun: newBegun()}
	defer s.begun.close()
	return s.run(ctx)
}

// tune goes through a space's candidates.
func (s *searching) tune(ctx context.Context, space *Space) error {
	p, o, c, how := s.problem, &s.options, s.campaign, s.how
	if space.contenders() == 0 {
		return refusedAll(space)
	}
	if err := p.Define(o); err != nil {
		return err
	}
	col, err := collective.New(p.spec(1))
	if err != nil {
		return err
	}
	bound, err := bounds.Of(ctx, p.Topology, col)
	if err != nil {
		return err
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
		Called:     space.called(),
	}
	if o.Baseline != nil {
		measured, err := o.Baseline.Measured(&p)
		if err != nil {
			return err
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
			return err
		}
	}
	problem := autotune.Problem{
		Topology: p.Topology, TopologyHash: p.Topology.Hash(), Sizes: p.Sizes, Protocols: o.Protocols,
		Runtime: o.Runtime, LeastUS: leastUS, OtherLinks: o.BackEnd.OtherLinks,
		Devices: o.BackEnd.Devices, SlotCache: o.BackEnd.SlotCache,
		DType: p.DType, Op: p.Op, Iters: c.Plan().Iters, Warmup: c.Plan().Warmup, Seed: c.Plan().Seed,
	}
	if o.TileBytes > 0 {
		for i := range problem.Tiles {
			problem.Tiles[i] = []int64{o.TileBytes}
		}
	}
	budget, trials := how.Budget, how.Trials
	if budget > 0 {
		budget = max(s.left(), 1)
	}
	if trials > 0 {
		if trials -= s.summary.Trials; trials <= 0 {
			return &autotune.LimitError{Limit: "trials", Value: strconv.Itoa(how.Trials)}
		}
	}
	summary, err := autotune.Run(ctx, problem, space.Candidates, autotune.Options{
		Executors: s.executors.take, Jobs: how.Jobs, Campaign: c,
		Trials: trials, Budget: budget, Deadline: how.Timeout, Progress: how.Progress,
	})
	s.add(summary)
	var limit *autotune.LimitError
	if errors.As(err, &limit) {
		limit.Value = map[string]string{"budget": how.Budget.String(), "trials": strconv.Itoa(how.Trials)}[limit.Limit] // not what was left of it
	}
	var unanswered *autotune.UnansweredError
	if err != nil && !errors.As(err, &unanswered) {
		return err
	}
	for reason, n := range summary.Refused {
		tally.Refused[reason] += n
	}
	tally.BoundedOut, tally.Tuned = summary.BoundedOut, summary.Tuned
	tally.Finished = err == nil && space.unlooked == ""
	return errors.Join(err, c.SetTally(tally))
}

// add counts a round's trials to those of the rounds before, which it found in the
// journal; else its summary is the search's.
func (s *searching) add(round autotune.Summary) {
	before := s.summary
	s.summary = round
	s.summary.Trials += before.Trials
	s.summary.Again += before.Again
	s.summary.Known = max(round.Known-before.Trials, 0)
	if s.summary.Changed == nil {
		s.summary.Changed = before.Changed
	}
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

// called is what each program of the space is called.
func (s *Space) called() map[string]results.Called {
	names := make(map[string]results.Called, len(s.Candidates))
	for i := range s.Candidates {
		c := &s.Candidates[i]
		names[c.Hash] = results.Called{
			Algorithm: c.Algorithm, Source: c.Source, Parameters: c.Parameters,
			Channels: c.Channels, Instances: c.Instances,
		}
	}
	return names
}
