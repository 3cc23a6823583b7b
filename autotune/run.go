package autotune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	cell          *cell
	event         Event
	unanswered    UnansweredError
}

// Run tunes candidates over the problem's sizes and records every trial in the
// campaign's journal. The sizes are completed one after another, rising; under a budget
// they take turns. With an error, the summary says how far it came.
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
	if err := r.tuneAll(ctx, cells, few); err != nil {
		r.countCandidates(prepared, false)
		return r.summary, err
	}
	if err := r.chooseFiles(ctx, few, cells); err != nil {
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

// tuneAll completes all cells, one after another. A budget may end a run at any time, and
// by then every size should have a good program: so under a budget the cells take turns,
// each turn of twice as many trials as the one before.
//
//	turn      1   2   3   …
//	1 KiB     1   2   4       trials by their bounds, after the baseline and the winner so
//	  …       1   2   4       far at the size below
//	1 GiB     1   2   4
func (r *run) tuneAll(ctx context.Context, cells []*cell, few []int) error {
	most := math.MaxInt
	if r.options.Budget > 0 {
		most = 1
	}
	for open := slices.Clone(cells); len(open) > 0; most *= 2 {
		var left []*cell
		for _, c := range open {
			finished, err := r.tune(ctx, c, most)
			switch {
			case err != nil:
				return err
			case finished:
				c.dropUnexportable(few)
			default:
				left = append(left, c)
			}
		}
		open = left
	}
	return nil
}

// tune measures at most a number of a cell's trials by their bounds, and reports whether
// no other can win. Then the cell is finished.
func (r *run) tune(ctx context.Context, c *cell, most int) (finished bool, err error) {
	r.cell = c
	r.event.Cell, r.event.Bytes, r.event.Placement = c.index, c.bytes, c.placement
	r.emit(CellStarted, nil)
	if err := c.sortByBound(ctx, r.options.Jobs); err != nil {
		return false, err
	}
	if finished, err = r.measureByBound(ctx, c, most); !finished || err != nil {
		return false, err
	}
	if !r.deterministic {
		if err := repeatContenders(ctx, r, c); err != nil {
			return false, err
		}
	}
	r.noteUnanswered(c)
	r.summary.Finished++
	for _, t := range c.trials {
		if !t.done {
			r.event.Done++
		}
	}
	r.emit(CellFinished, nil)
	return true, nil
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

// recordOutcome enters a trial's record, and reports it.
func (r *run) recordOutcome(t *trial, record results.Trial) {
	t.addResult(record)
	if record.Outcome != results.OK {
		r.summary.Failed++
	}
	r.event.Done++
	t.cell.updateIncumbents([]*trial{t})
	r.emit(TrialDone, &record)
}

// emit reports an event.
func (r *run) emit(kind EventKind, t *results.Trial) {
	if r.options.Progress == nil {
		return
	}
	e := r.event
	e.Kind, e.Made, e.Known, e.Failed = kind, r.summary.Trials, r.summary.Known, r.summary.Failed
	if t != nil {
		e.Algorithm, e.Protocol, e.TileBytes, e.Outcome, e.Note = t.Algorithm, t.Protocol, t.TileBytes, string(t.Outcome), t.Note
		if t.Outcome == results.OK {
			e.TimeUS = results.Median(t.TimesUS)
		}
	}
	if best := r.cell.best[0]; best != nil {
		e.IncumbentUS, e.Incumbent = best.time, best.Algorithm
	}
	r.options.Progress(e)
}
