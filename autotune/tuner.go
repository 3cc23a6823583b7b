package autotune

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
)

// tuner is a campaign under way: its cells, what was measured in them, and what is left of the
// limits. A chooser says what it measures next.
type tuner struct {
	problem      Problem
	options      Options
	practice     practice
	fingerprint  string
	simulated    bool // the executor's times are a model's
	started      time.Time
	cells        []*cell // by rising size, in-place calls first
	summary      Summary
	event        Event
	made         []outcome // in the order of the journal
	enough       int       // trials after which a run without limits ends; 0: none
	late, timely int       // trials made by this run that met their deadline, and others with an outcome of their own
}

// outcome is a trial that was made, and its record.
type outcome struct {
	*trial
	record results.Trial
}

// describeBackend asks the executors what they are, refuses what they do not support, and
// records them in the journal.
func (r *tuner) describeBackend(ctx context.Context) (executor.Description, error) {
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
	r.fingerprint, r.simulated, r.practice = record.Hash(), d.Simulated, practiceOf(d.Deterministic, r.options.Jobs)
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

// recordOutcome enters a trial's record, and reports it.
func (r *tuner) recordOutcome(t *trial, record results.Trial) {
	t.addResult(record)
	r.made = append(r.made, outcome{t, record})
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

func (r *tuner) emit(kind EventKind, c *cell, t *results.Trial) {
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
