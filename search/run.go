package search

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/colltune/colltune/autotune"
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
