package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/program"
)

// leastTime is the least time, in microseconds, that any routing takes at a size;
// nil if none is known.
type leastTime func(bytes int64) float64

// tune tries a space's candidates.
func (s *session) tune(ctx context.Context, space *Space) error {
	if space.contenders() == 0 {
		return refusedAll(space, s.options.MaxSMs)
	}
	p := s.problem
	least, err := s.least(ctx, &p)
	if err != nil {
		return err
	}
	tally, err := s.tally(space, &p, least)
	if err != nil {
		return err
	}
	if known, _ := s.campaign.Tally(); !known.Finished || !reflect.DeepEqual(known.Points, tally.Points) {
		// The tally is needed to read the table of an unfinished campaign, and its
		// bounds to believe the trials.
		if err := s.campaign.SetTally(tally); err != nil {
			return err
		}
	}
	limits, err := s.limits(space)
	if err != nil {
		return err
	}
	summary, err := autotune.Run(ctx, s.trials(&p, least), space.Candidates, limits)
	s.add(summary)
	err = s.nameLimit(err)
	var unanswered *autotune.UnansweredError
	tally.Outlook = summary.Outlook
	if slices.ContainsFunc(tally.Outlook, func(o results.Outlook) bool { return o.Gain > 0 }) {
		tally.Gain = cmp.Or(s.options.Gain, autotune.DefaultGain)
	}
	if err != nil && !errors.As(err, &unanswered) {
		if len(tally.Outlook) > 0 && (errors.Is(err, autotune.ErrLimit) || errors.Is(err, autotune.ErrInterrupted)) {
			tally.Tuned = summary.Tuned
			err = cmp.Or(s.campaign.SetTally(tally), err) // what is left uncertain
		}
		return err
	}
	for reason, n := range summary.Refused {
		tally.Refused[reason] += n
	}
	tally.BoundedOut, tally.Tuned, tally.Untried = summary.BoundedOut, summary.Tuned, summary.Untried
	tally.Finished = err == nil && len(space.unexplored) == 0
	return errors.Join(err, s.campaign.SetTally(tally))
}

// least returns the bound that no routing of a problem can beat; nil if the executor is
// not subject to the topology's links.
func (s *session) least(ctx context.Context, p *Problem) (leastTime, error) {
	c, err := p.Over(len(p.Topology.Ranks), p.InPlace)
	if err != nil {
		return nil, err
	}
	bound, err := bounds.Of(ctx, p.Topology, c)
	if err != nil {
		return nil, err
	}
	if o := &s.options; o.Capabilities.OtherLinks {
		o.Observer.Say(fmt.Sprintf("%s does not join the ranks by the links of %s: no bound is known for its times", o.Capabilities.Name, p.Topology.Name))
		return nil, nil
	}
	return bound.TimeUS, nil
}

// tally makes the campaign's tally of a space that is not tuned yet.
func (s *session) tally(space *Space, p *Problem, least leastTime) (results.Tally, error) {
	given, err := s.options.given(p)
	if err != nil {
		return results.Tally{}, err
	}
	tally := results.Tally{
		Enumerated: space.Enumerated(),
		Refused:    program.ByReason(space.Refusals),
		Points:     space.tallyPoints(p, &s.options, given, least),
		Labels:     space.called(),
	}
	if s.options.Unregistered {
		s.keepBaselines(tally.Points)
	}
	return tally, s.options.addLibraries(tally.Points, p)
}

// keepBaselines leaves points the baselines that the campaign has of them: one begun before baselines
// told of releases stays as it is.
func (s *session) keepBaselines(points []results.Point) {
	known, _ := s.campaign.Tally()
	for i := range points {
		for _, p := range known.Points {
			if p.Bytes == points[i].Bytes && p.Placement == points[i].Placement && p.Baseline != nil {
				points[i].Baseline, points[i].Others = p.Baseline, p.Others
			}
		}
	}
}

// trials converts the problem for autotune.
func (s *session) trials(p *Problem, least leastTime) autotune.Problem {
	o, plan := &s.options, s.campaign.Plan()
	problem := autotune.Problem{
		Topology: p.Topology, TopologyHash: p.Topology.Hash(), Call: p.Call, Sizes: p.Sizes, Protocols: o.Protocols,
		Runtime: o.Runtime, LeastUS: least, OtherLinks: o.Capabilities.OtherLinks, InTurns: o.Capabilities.InTurns,
		Iters: plan.Iters, Warmup: plan.Warmup, Seed: plan.Seed, Gain: o.Gain, Earlier: s.earlier,
	}
	if o.TileBytes > 0 {
		for i := range problem.Tiles {
			problem.Tiles[i] = []int64{o.TileBytes}
		}
	}
	return problem
}

// limits returns the options of a round of tuning, with what is left of the user's limits.
func (s *session) limits(space *Space) (autotune.Options, error) {
	how := s.how
	limits := autotune.Options{
		Executors: s.how.Executors, Jobs: s.trialsAtOnce(space), Campaign: s.campaign, Strategy: s.options.Strategy,
		Deadline: how.Timeout, Progress: how.Progress,
	}
	if how.Budget > 0 {
		limits.Budget = max(s.left(), 1)
	}
	if how.Trials > 0 {
		if limits.Trials = how.Trials - s.summary.Trials; limits.Trials <= 0 {
			return limits, &autotune.LimitError{Limit: "trials", Value: strconv.Itoa(how.Trials)}
		}
	}
	return limits, nil
}

// trialsAtOnce is how many trials may be made at the same time: where they are simulated, as many
// as there is memory for.
func (s *session) trialsAtOnce(space *Space) int {
	if !s.options.simulates() {
		return s.how.Jobs
	}
	var programs []*ir.Program
	for i := range space.Candidates {
		if p := space.Candidates[i].Program; p != nil {
			programs = append(programs, p)
		}
	}
	return program.Memory(s.options.Memory).Trials(programs, s.how.Jobs)
}

// refusedAll is the error of a space without candidates: the three commonest reasons, each
// with its first refusal, and what to try. sms is the limit of the search; 0: none.
func refusedAll(s *Space, sms int) error {
	count := program.ByReason(s.Refusals)
	var why, try []string
	for i, reason := range program.Reasons(count) {
		if i == 3 {
			why = append(why, fmt.Sprintf("and %s (-v names all)", units.Count(len(count)-i, "other reason")))
			break
		}
		first := s.Refusals[slices.IndexFunc(s.Refusals, func(r program.Refusal) bool { return string(r.Reason) == reason })]
		why = append(why, fmt.Sprintf("%s %d, such as %s: %s", reason, count[reason], first.Candidate, first.Detail))
		if remedy := program.Reason(reason).Remedy(); remedy != "" && !slices.Contains(try, remedy) {
			try = append(try, remedy)
		}
	}
	if sms > 0 && s.least > 0 {
		try = append([]string{fmt.Sprintf("--max-sms %d, the least that would do", s.least)}, try...)
	}
	text := fmt.Sprintf("%s, all refused: %s", units.Count(len(s.Refusals), "candidate"), strings.Join(why, "; "))
	if len(try) > 0 {
		text += "; try " + strings.Join(try, ", or ")
	}
	return &NothingFound{program.ShortLists(text)}
}
