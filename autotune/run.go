package autotune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// quarantineAfter is how many crashes a program may cause before no further trials
// of it are made.
const quarantineAfter = 2

// run is a campaign under way.
type run struct {
	problem       Problem
	options       Options
	fingerprint   string
	deterministic bool
	simulated     bool // the executor's times are a model's
	started       time.Time
	summary       Summary
	event         Event
	made          []outcome                      // in the order of the journal
	observers     []func(*trial, *results.Trial) // of further outcomes
	unanswered    UnansweredError
	followers     []*follower // of a strategy that is not bounded
	enough        int         // trials after which the model ends; 0: no limit
	late, timely  int         // trials made by this run that met their deadline, and others with an outcome of their own
}

// tooSlow is the number of trials after which a run ends if every one met its deadline.
const tooSlow = 16

// checkTimely returns an error if every trial so far, and there were enough, met its deadline.
func (r *run) checkTimely() error {
	if r.timely > 0 || r.late < tooSlow {
		return nil
	}
	return &TooSlowError{r.late, r.options.deadline()}
}

// outcome is a trial that was made, and its record.
type outcome struct {
	*trial
	record results.Trial
}

// Run tunes candidates over the problem's sizes and records every trial in the
// campaign's journal, in the order of a strategy. With an error, the summary says how far it came.
// After a LimitError, ErrInterrupted or a lost executor (executor.ErrLost) the
// campaign goes on when Run is called again. An UnansweredError comes after
// everything was tried: at some sizes nothing can win.
func Run(ctx context.Context, p Problem, candidates []Candidate, o Options) (Summary, error) {
	if err := p.check(); err != nil {
		return Summary{}, err
	}
	elem := p.ElemBytes()
	r := &run{problem: p, options: o, started: time.Now()}
	description, err := r.describeBackend(ctx)
	if err != nil {
		return Summary{}, err
	}
	does := func(proto topologies.Proto) bool {
		return len(description.Protocols) == 0 || slices.Contains(description.Protocols, proto.String())
	}
	prepared, refused, duplicates, err := prepare(&p, elem, does, candidates)
	if err != nil {
		return Summary{}, err
	}
	r.summary.Refused, r.summary.Duplicates = refused, duplicates
	ctx, cancel := r.withBudget(ctx)
	defer cancel()

	places := cellsOf(&p, prepared)
	classes := newClasses(elem, p.Op, p.DType)
	few := limitedRuntimes(classes, len(places))
	var cells []*cell
	before := map[string]*cell{} // by placement
	for i, at := range places {
		c := newCell(&p, classes, prepared, at.bytes, elem, at.placement)
		c.index, c.before = i, before[at.placement]
		before[at.placement] = c
		cells = append(cells, c)
		r.event.Trials += len(c.trials)
	}
	r.event.Cells, r.summary.Cells = len(cells), len(cells)
	if err := r.tune(ctx, cells, few); err != nil {
		r.countCandidates(prepared, false)
		return r.summary, err
	}
	r.countCandidates(prepared, true)
	return r.summary, r.unansweredError()
}

// describeBackend asks the executors what they are, refuses what they do not support, and
// records them in the journal.
func (r *run) describeBackend(ctx context.Context) (executor.Description, error) {
	d, err := r.options.Executors.Describe(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return d, ErrInterrupted
		}
		return d, err
	}
	p := &r.problem
	switch {
	case len(d.DTypes) > 0 && !slices.Contains(d.DTypes, p.DType):
		return d, fmt.Errorf("executor %s: dtype %s: %w: it has %s", d.Name, p.DType, executor.ErrUnsupported, strings.Join(d.DTypes, ", "))
	case len(d.Operations) > 0 && !slices.Contains(d.Operations, p.Op):
		return d, fmt.Errorf("executor %s: operation %s: %w: it has %s", d.Name, p.Op, executor.ErrUnsupported, strings.Join(d.Operations, ", "))
	case d.MaxRanks > 0 && len(p.Topology.Ranks) > d.MaxRanks:
		return d, fmt.Errorf("executor %s: %d ranks: %w: it has at most %d", d.Name, len(p.Topology.Ranks), executor.ErrUnsupported, d.MaxRanks)
	}
	record := ExecutorOf(d)
	r.fingerprint, r.deterministic, r.simulated = record.Hash(), d.Deterministic, d.Simulated
	r.summary.Changed, err = r.options.Campaign.SetExecutor(record)
	return d, err
}

// ExecutorOf is the journal's record of an executor.
func ExecutorOf(d executor.Description) results.Executor {
	return results.Executor{
		Name: d.Name, Version: d.Version, Deterministic: d.Deterministic,
		Devices: len(d.Devices), OtherLinks: d.OtherLinks, Fingerprint: d.Fingerprint,
	}
}

// cellKey is a size and placement to tune at.
type cellKey struct {
	bytes     int64
	placement string
}

// cellsOf lists them by rising size, in-place calls first.
func cellsOf(p *Problem, candidates []*candidate) []cellKey {
	sizes := slices.Clone(p.Sizes)
	slices.Sort(sizes)
	var all []cellKey
	for _, n := range slices.Compact(sizes) {
		for _, placement := range []string{"in", "out"} {
			if slices.ContainsFunc(candidates, func(c *candidate) bool { return c.placement == placement }) {
				all = append(all, cellKey{n, placement})
			}
		}
	}
	return all
}

// tune measures in all cells what the strategy chooses, and confirms the winners.
func (r *run) tune(ctx context.Context, cells []*cell, few []int) error {
	err := r.choose(ctx, cells, few)
	if !r.deterministic && (err == nil || errors.Is(err, ErrLimit) && r.limitReached(1) == nil) {
		err = cmp.Or(r.confirm(ctx, cells), err)
	}
	r.lookOut()
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && r.followers != nil { // bounded notes each cell when it is completed
		for _, c := range cells {
			r.noteUnanswered(c)
		}
	}
	return err
}

// choose measures what the strategy chooses, until it expects no more.
func (r *run) choose(ctx context.Context, cells []*cell, few []int) error {
	name := r.strategyName()
	if name != Bounded {
		return r.follow(ctx, name, cells)
	}
	if !r.deterministic {
		r.recall(cells)
	}
	if err := r.tuneByBound(ctx, cells, few); err != nil {
		return err
	}
	if !r.deterministic {
		if err := r.confirm(ctx, cells); err != nil {
			return err
		}
	}
	return r.chooseFiles(ctx, few, cells)
}

// countCandidates sums up what became of the candidates. finished: all cells were
// completed.
func (r *run) countCandidates(candidates []*candidate, finished bool) {
	for _, c := range candidates {
		switch {
		case c.Reference: // no candidate, only a comparison
		case c.tried:
			r.summary.Tuned++
		case !finished:
			r.summary.Untried++
		case c.possible && r.strategyName() != Bounded:
			r.summary.Untried++
		case c.possible:
			r.summary.BoundedOut++
		case r.problem.Runtime != "" && !c.Reference:
			r.summary.Refused[refusedRuntime]++
		default:
			r.summary.Refused[refusedPoint]++
		}
	}
}

// withBudget is the context for a run's trials. When the budget is spent, a trial
// whose time is computed is given up. A trial that is measured is waited for,
// because it is better to be late than to kill what runs on a device.
func (r *run) withBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.options.Budget <= 0 || !r.deterministic {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, r.started.Add(r.options.Budget), r.overBudget())
}

func (r *run) overBudget() error { return &LimitError{"budget", r.options.Budget.String()} }

// stopCause says why a run's context is done: a limit or an interrupt.
func stopCause(ctx context.Context) error {
	var limit *LimitError
	if errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return ErrInterrupted
}

// budgetSpent reports whether the budget is used up.
func (r *run) budgetSpent() bool {
	return r.options.Budget > 0 && time.Since(r.started) >= r.options.Budget
}

// fits reports whether a trial that takes as long as this ends within the budget.
func (r *run) fits(seconds float64) bool {
	return r.options.Budget <= 0 || time.Since(r.started).Seconds()+seconds <= r.options.Budget.Seconds()
}

// limitReached returns a limit of which this part is used up, from 0 to 1.
func (r *run) limitReached(part float64) error {
	o := &r.options
	switch {
	case o.Trials > 0 && float64(r.summary.Trials) >= part*float64(o.Trials):
		return &LimitError{"trials", strconv.Itoa(o.Trials)}
	case o.Budget > 0 && time.Since(r.started).Seconds() >= part*o.Budget.Seconds():
		return r.overBudget()
	case r.enough > 0 && float64(r.summary.Known+r.summary.Trials) >= part*float64(r.enough):
		return errEnough
	}
	return nil
}

// recordOutcome enters a trial's record, and reports it.
func (r *run) recordOutcome(t *trial, record results.Trial) {
	t.addResult(record)
	r.made = append(r.made, outcome{t, record})
	for _, observe := range r.observers {
		observe(t, &record)
	}
	if record.Outcome != results.OK {
		r.summary.Failed++
	}
	r.event.Done++
	if record.Repeat > 0 { // its time has changed
		r.event.Trials++
		t.cell.recomputeIncumbents()
	} else {
		t.cell.updateIncumbents([]*trial{t})
	}
	r.emit(TrialDone, t.cell, &record)
}

// emit reports an event.
func (r *run) emit(kind EventKind, c *cell, t *results.Trial) {
	if r.options.Progress == nil {
		return
	}
	e := r.event
	e.Cell, e.Bytes, e.Placement = c.index, c.bytes, c.placement
	e.Kind, e.Made, e.Known, e.Failed = kind, r.summary.Trials, r.summary.Known, r.summary.Failed
	if t != nil {
		e.Algorithm, e.Protocol, e.TileBytes, e.Outcome, e.Note = t.Algorithm, t.Protocol, t.TileBytes, string(t.Outcome), t.Note
		if t.Outcome == results.OK {
			e.TimeUS = results.Median(t.TimesUS)
		}
	}
	if best := c.best[0]; best != nil {
		e.IncumbentUS, e.Incumbent = best.time, best.Algorithm
	}
	r.options.Progress(e)
}
