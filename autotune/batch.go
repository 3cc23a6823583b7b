package autotune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
)

// quarantineAfter is how many crashes a program may cause before no further trials
// of it are made.
const quarantineAfter = 2

// batch holds trials that are measured together.
//
//	trials ── known in the journal ──────────────▶ outcome
//	   └── pending ── in quarantine ──▶ journal ──▶ outcome
//	            └───── run ───────────▶ journal ──▶ outcome
type batch struct {
	*tuner
	pending     []*trial        // trials that need an outcome
	records     []results.Trial // by index of pending; Outcome is empty until the trial is done
	quarantined map[*trial]bool // programs in quarantine when the batch began

	journalErr error // the campaign could not append a record
	lostErr    error // the first error that left a trial without an outcome
}

// measure gives every trial an outcome: the journal's where it has one, else an
// executor's. A journaled failure that may be retried does not count.
func (r *tuner) measure(ctx context.Context, trials []*trial) error {
	b := r.newBatch(trials)
	if len(b.pending) == 0 {
		return nil
	}
	cut := b.applyLimit()
	if err := r.savePrograms(b.pending); err != nil {
		return err
	}
	b.recordQuarantined()
	b.computeSettings(ctx)
	b.runAll(ctx)
	switch {
	case b.journalErr != nil:
		return b.journalErr
	case ctx.Err() != nil:
		return stopCause(ctx)
	case b.lostErr != nil:
		return b.lostErr
	case b.checkTimely() != nil:
		return b.checkTimely()
	case slices.ContainsFunc(b.records, func(t results.Trial) bool { return t.Outcome == "" }):
		return r.overBudget()
	}
	return cut
}

// newBatch records the outcomes that the journal knows, and prepares records for the
// other trials.
func (r *tuner) newBatch(trials []*trial) *batch {
	b := &batch{tuner: r, quarantined: map[*trial]bool{}}
	// Looked up once, before anything runs: otherwise a crash in this batch could
	// stop some of its trials in one run and, after a kill, others in the next.
	for _, t := range trials {
		b.quarantined[t] = t.crashes >= quarantineAfter
	}
	deadline := r.options.deadline()
	for _, t := range trials {
		record := t.record
		record.Repeat, record.Fingerprint = t.next(), r.fingerprint
		if iters, warmup := r.practice.effort(r.problem.Iters, r.problem.Warmup, record.Bytes, record.Repeat); iters != r.problem.Iters || warmup != r.problem.Warmup {
			record.Iters, record.Warmup = iters, warmup
		}
		record.Key = r.key(&record)
		known, ok := r.options.Campaign.Lookup(record.Key)
		if ok && !known.Retryable(deadline) {
			r.summary.Known++
			r.recordOutcome(t, known)
			continue
		}
		if ok {
			record.Attempt = known.Attempt + 1
		}
		b.pending = append(b.pending, t)
		b.records = append(b.records, record)
	}
	return b
}

// applyLimit drops the trials beyond Options.Trials. If there are any, the error is a
// *LimitError.
func (b *batch) applyLimit() error {
	n := b.options.Trials
	if n <= 0 || b.summary.Trials+len(b.pending) <= n {
		return nil
	}
	left := max(n-b.summary.Trials, 0)
	b.pending, b.records = b.pending[:left], b.records[:left]
	return &LimitError{"trials", strconv.Itoa(n)}
}

// recordQuarantined journals the trials of quarantined programs, which are not run.
func (b *batch) recordQuarantined() {
	for i, t := range b.pending {
		if b.quarantined[t] {
			b.records[i].Outcome = results.Quarantined
			b.records[i].Note = fmt.Sprintf("not run: its program killed %d executors", t.crashes)
			b.journal(i)
		}
	}
}

// runAll runs the remaining trials until the budget is spent or one of them ends
// without an outcome.
func (b *batch) runAll(ctx context.Context) {
	var indices []int
	var work []executor.Trial
	p := &b.problem
	for i, t := range b.pending {
		if b.quarantined[t] || t.Setting != nil {
			continue
		}
		indices = append(indices, i)
		iters, warmup := b.practice.effort(p.Iters, p.Warmup, t.record.Bytes, b.records[i].Repeat)
		work = append(work, executor.Trial{
			Program: t.Program, Native: t.Native, Collective: t.Collective, Topology: p.Topology, Bytes: t.record.Bytes, Protocol: t.proto, TileBytes: t.tile,
			DType: p.DType, Op: p.Op, Iters: iters, Warmup: warmup, Seed: p.Seed,
			Repeat: b.records[i].Repeat, Before: len(b.made) + len(work),
		})
	}
	more := func() bool { return !b.budgetSpent() && b.checkTimely() == nil }
	runAll(ctx, b.options.Executors, work, b.practice.jobs, more, func(fates []trialResult) {
		var done []int
		for _, f := range fates {
			switch {
			case f.err == nil:
				b.complete(indices[f.index], f)
				done = append(done, indices[f.index])
			case b.lostErr == nil:
				b.lostErr = f.err
			}
		}
		b.journal(done...)
	})
}

// computeSettings computes the times of settings.
func (b *batch) computeSettings(ctx context.Context) {
	var all errgroup.Group
	all.SetLimit(max(b.options.Jobs, 1))
	fates := make([]trialResult, len(b.pending))
	for i, t := range b.pending {
		if t.Setting == nil {
			continue
		}
		all.Go(func() error {
			start := time.Now()
			us, err := t.Setting.US(ctx, t.record.Bytes, t.proto)
			f := &fates[i]
			switch f.record.Seconds = math.Round(time.Since(start).Seconds()*1e6) / 1e6; {
			case ctx.Err() != nil:
				f.err = ctx.Err()
			case err == nil:
				f.record.Outcome, f.record.TimesUS, f.record.Data = results.OK, []float64{us}, results.NoData
			default:
				f.record.Outcome, f.record.Note = results.Failed, note(err.Error())
			}
			return nil
		})
	}
	_ = all.Wait() // errors are the trials'
	var done []int
	for i, t := range b.pending {
		if t.Setting != nil && fates[i].err == nil {
			b.complete(i, fates[i])
			done = append(done, i)
		}
	}
	b.journal(done...)
}

// complete fills in a record with the result of its trial.
func (b *batch) complete(i int, f trialResult) {
	t := &b.records[i]
	t.Outcome, t.TimesUS, t.Data, t.Note = f.record.Outcome, f.record.TimesUS, f.record.Data, f.record.Note
	t.Seconds, t.Cost = f.record.Seconds, f.record.Cost
	if t.Data == results.Unchecked && b.simulated {
		t.Data = results.NoData
	}
	if t.Outcome == results.TimedOut {
		t.Deadline = b.options.deadline().Seconds()
	}
	kept, err := b.options.Campaign.KeepOutput(t.Key, t.Attempt, f.output)
	b.journalErr = cmp.Or(b.journalErr, err)
	t.Output = kept
	b.rejectBelowBound(t)
}

// journal appends records in one write and adds their outcomes to the trials.
func (b *batch) journal(indices ...int) {
	written := make([]results.Trial, len(indices))
	for n, i := range indices {
		written[n] = b.records[i]
	}
	if err := b.options.Campaign.Append(written...); err != nil {
		b.journalErr = cmp.Or(b.journalErr, err) // those that follow only repeat it
		return
	}
	for n, i := range indices {
		b.summary.Trials++
		switch written[n].Outcome {
		case results.TimedOut:
			b.late++
		case results.Quarantined: // not run
		default:
			b.timely++
		}
		if written[n].Attempt > 0 {
			b.summary.Again++
		}
		b.recordOutcome(b.pending[i], written[n])
	}
}

// savePrograms writes the trials' programs into the campaign before any record names
// them.
func (r *tuner) savePrograms(trials []*trial) error {
	var save errgroup.Group
	save.SetLimit(max(r.options.Jobs, 1))
	seen := map[*candidate]bool{}
	for _, t := range trials {
		if t.Program != nil && !seen[t.candidate] {
			seen[t.candidate] = true
			save.Go(func() error { return r.options.Campaign.SaveProgram(t.Hash, t.Program) })
		}
	}
	return save.Wait()
}

// key is the content address of a trial.
func (r *tuner) key(t *results.Trial) string {
	p := &r.problem
	plan := results.Plan{Call: p.Call, Iters: p.Iters, Warmup: p.Warmup, Seed: p.Seed, Topology: results.Topology{Hash: p.TopologyHash}}
	return plan.Key(t).Hash()
}

// rejectBelowBound fails a trial whose time is below the bound of every routing: the
// clock or the executor is wrong, or the links differ from the topology's.
func (r *tuner) rejectBelowBound(t *results.Trial) {
	// A library may reduce in the switches, to which the bound does not apply.
	if t.Outcome != results.OK || r.problem.LeastUS == nil || t.Source == results.SourceNative {
		return
	}
	const rounding = 1e-9
	took, least := results.Median(t.TimesUS), r.problem.LeastUS(t.Bytes)
	if took < least*(1-rounding) {
		t.Outcome, t.TimesUS = results.Failed, nil
		t.Note = note(fmt.Sprintf("faster than any routing can be: %.6g us, bound %.6g us; %s", took, least, t.Note))
	}
}
