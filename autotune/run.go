package autotune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// quarantineAfter is how many crashes a program is allowed before its further
// trials are not made.
const quarantineAfter = 2

// run is a campaign under way.
type run struct {
	problem       Problem
	options       Options
	pool          *pool
	fingerprint   string
	deterministic bool
	started       time.Time
	summary       Summary
	cell          *cell
	before        *cell // of the same placement, a size below
	event         Event
	unanswered    UnansweredError
}

// Run tunes candidates over the problem's sizes, rising, and journals every
// trial in the campaign. With an error, the summary says how far it came:
// LimitError and ErrInterrupted leave a campaign that goes on when Run is
// called again, and so does a lost executor (executor.ErrLost). An
// UnansweredError comes after all was tried: at some sizes nothing can win.
func Run(ctx context.Context, p Problem, candidates []Candidate, o Options) (Summary, error) {
	if err := p.check(); err != nil {
		return Summary{}, err
	}
	strategy, err := strategyNamed(o.Strategy)
	if err != nil {
		return Summary{}, err
	}
	elem, err := collective.ElemBytes(p.DType)
	if err != nil {
		return Summary{}, err
	}
	r := &run{problem: p, options: o, pool: &pool{make: o.Executors}, started: time.Now()}
	defer r.pool.close()
	description, err := r.meet(ctx)
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
	ctx, cancel := r.within(ctx)
	defer cancel()

	places := cellsOf(&p, prepared)
	classes := newClasses(elem, p.Op, p.DType)
	before := map[string]*cell{} // by placement
	r.event.Cells, r.summary.Cells = len(places), len(places)
	for i, at := range places {
		c := newCell(&p, classes, prepared, at.bytes, elem, at.placement)
		r.before = before[at.placement]
		if err := r.tune(ctx, strategy, c, i); err != nil {
			r.count(prepared, false)
			return r.summary, err
		}
		before[at.placement] = c
		r.summary.Finished++
	}
	r.count(prepared, true)
	if err := r.pool.close(); err != nil {
		return r.summary, err
	}
	return r.summary, r.verdict()
}

// meet asks an executor what it is, and journals it.
func (r *run) meet(ctx context.Context) (executor.Description, error) {
	e, err := r.pool.take()
	if err != nil {
		return executor.Description{}, err
	}
	defer r.pool.give(e)
	d, err := e.Describe(ctx)
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
	record := results.Executor{Name: d.Name, Version: d.Version, Deterministic: d.Deterministic, Fingerprint: d.Fingerprint}
	r.fingerprint, r.deterministic = record.Hash(), d.Deterministic
	r.summary.Changed, err = r.options.Campaign.SetExecutor(record)
	return d, err
}

// place is a size and placement to tune at.
type place struct {
	bytes     int64
	placement string
}

// cellsOf lists them by rising size, in place first.
func cellsOf(p *Problem, candidates []*candidate) []place {
	sizes := slices.Clone(p.Sizes)
	slices.Sort(sizes)
	var all []place
	for _, n := range slices.Compact(sizes) {
		for _, placement := range []string{"in", "out"} {
			if slices.ContainsFunc(candidates, func(c *candidate) bool { return c.placement == placement }) {
				all = append(all, place{n, placement})
			}
		}
	}
	return all
}

// tune takes one cell to its end.
func (r *run) tune(ctx context.Context, s strategy, c *cell, index int) error {
	r.cell = c
	r.event.Cell, r.event.Bytes, r.event.Placement, r.event.Trials, r.event.Done = index, c.bytes, c.placement, len(c.trials), 0
	r.tell(CellStarted, nil)
	if err := c.order(ctx, r.options.Jobs); err != nil {
		return err
	}
	if err := s.run(ctx, r, c); err != nil {
		return err
	}
	if !r.deterministic {
		if err := settle(ctx, r, c); err != nil {
			return err
		}
	}
	r.answer(c)
	r.event.Done = len(c.trials)
	r.tell(CellFinished, nil)
	return nil
}

// count settles what became of the candidates; finished tells that all cells
// were gone through.
func (r *run) count(candidates []*candidate, finished bool) {
	for _, c := range candidates {
		switch {
		case c.Reference: // no candidate: only there to be compared with
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

// measure gives every trial an outcome: from the journal where it is known,
// from an executor where not, or where what is known was no result and is open
// to another attempt.
func (r *run) measure(ctx context.Context, c *cell, trials []*trial, repeat int) error {
	// A crash of this batch must not keep the rest of it from being made: after
	// a kill, the crash would be known before the rest is.
	banned := map[*trial]bool{}
	for _, t := range trials {
		banned[t] = t.crashes >= quarantineAfter
	}
	var fresh []*trial
	var keys []string
	var attempts []int
	deadline := r.options.deadline()
	for _, t := range trials {
		key := r.key(t, repeat)
		known, ok := r.options.Campaign.Lookup(key)
		if ok && !known.Open(deadline) {
			r.summary.Known++
			r.outcome(t, known)
			continue
		}
		attempt := 0
		if ok {
			attempt = known.Attempt + 1
		}
		fresh = append(fresh, t)
		keys = append(keys, key)
		attempts = append(attempts, attempt)
	}
	if len(fresh) == 0 {
		return nil
	}
	var cut error
	if n := r.options.Trials; n > 0 && r.summary.Trials+len(fresh) > n {
		cut = &LimitError{"trials", strconv.Itoa(n)}
		fresh = fresh[:max(n-r.summary.Trials, 0)]
	}
	records := make([]results.Trial, len(fresh))
	runnable := make([]int, 0, len(fresh)) // those not in quarantine
	work := make([]executor.Trial, 0, len(fresh))
	for i, t := range fresh {
		records[i] = t.record
		records[i].Key, records[i].Repeat, records[i].Attempt, records[i].Fingerprint = keys[i], repeat, attempts[i], r.fingerprint
		if !banned[t] {
			runnable = append(runnable, i)
			work = append(work, executor.Trial{
				Program: t.Program, Native: t.Native, Collective: t.Collective, Topology: r.problem.Topology, Bytes: c.bytes, Protocol: t.proto, TileBytes: t.tile,
				DType: r.problem.DType, Op: r.problem.Op, Iters: r.problem.Iters, Warmup: r.problem.Warmup, Seed: r.problem.Seed,
			})
		}
	}
	if err := r.savePrograms(fresh); err != nil {
		return err
	}

	var stopped, unwritten error
	journal := func(indices ...int) {
		batch := make([]results.Trial, len(indices))
		for n, i := range indices {
			batch[n] = records[i]
		}
		if err := r.options.Campaign.Append(batch...); err != nil {
			unwritten = errors.Join(unwritten, err)
			return
		}
		for n, i := range indices {
			r.summary.Trials++
			if batch[n].Attempt > 0 {
				r.summary.Again++
			}
			r.outcome(fresh[i], batch[n])
		}
	}
	for i, t := range fresh {
		if banned[t] {
			records[i].Outcome = results.Quarantined
			records[i].Note = fmt.Sprintf("not run: its program killed %d executors", t.crashes)
			journal(i)
		}
	}
	more := func() bool { return !r.spent() }
	r.pool.runAll(ctx, work, r.jobs(), r.options.Timeout, more, func(fates []fate) {
		var done []int
		for _, f := range fates {
			if f.err != nil {
				if stopped == nil {
					stopped = f.err
				}
				continue
			}
			i := runnable[f.index]
			records[i].Outcome, records[i].TimesUS, records[i].Note, records[i].Seconds = f.record.Outcome, f.record.TimesUS, f.record.Note, f.record.Seconds
			if records[i].Outcome == results.TimedOut {
				records[i].Deadline = deadline.Seconds()
			}
			kept, err := r.options.Campaign.KeepOutput(records[i].Key, records[i].Attempt, f.output)
			unwritten = errors.Join(unwritten, err)
			records[i].Output = kept
			r.disbelieve(&records[i])
			done = append(done, i)
		}
		journal(done...)
	})
	switch {
	case unwritten != nil:
		return unwritten
	case ctx.Err() != nil:
		return ended(ctx)
	case stopped != nil:
		return stopped
	case slices.ContainsFunc(records, func(t results.Trial) bool { return t.Outcome == "" }):
		return r.overBudget()
	}
	return cut
}

// jobs is how many trials run at a time: one where they would disturb each
// other's times.
func (r *run) jobs() int {
	if !r.deterministic {
		return 1
	}
	return r.options.Jobs
}

// disbelieve takes a time from the table that no routing can have: the clock,
// the executor or the topology's links are not what they are taken for.
func (r *run) disbelieve(t *results.Trial) {
	// A library that sums in the switches needs no routing: for it there is no
	// such bound.
	if t.Outcome != results.OK || r.problem.LeastUS == nil || t.Source == results.Backend {
		return
	}
	const rounding = 1e-9
	took, least := results.Median(t.TimesUS), r.problem.LeastUS(t.Bytes)
	if took < least*(1-rounding) {
		t.Outcome, t.TimesUS = results.Failed, nil
		t.Note = note(fmt.Sprintf("faster than any routing can be: %.6g us, bound %.6g us; %s", took, least, t.Note))
	}
}

// key is the content address of a trial.
func (r *run) key(t *trial, repeat int) string {
	return results.Key{
		Program: t.Hash, Bytes: r.cell.bytes, DType: r.problem.DType, Op: r.problem.Op, Placement: t.placement,
		Protocol: t.record.Protocol, TileBytes: t.tile,
		Iters: r.problem.Iters, Warmup: r.problem.Warmup, Seed: r.problem.Seed, Repeat: repeat,
		Fingerprint: r.fingerprint, Topology: r.problem.TopologyHash,
	}.Hash()
}

// within is the context of a run's trials. Where times are computed a trial under
// way is given up when the budget is used up; one that is measured is waited for:
// to kill what runs on a device is worse than being late.
func (r *run) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.options.Budget <= 0 || !r.deterministic {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, r.started.Add(r.options.Budget), r.overBudget())
}

func (r *run) overBudget() error { return &LimitError{"budget", r.options.Budget.String()} }

// ended is why a run's context is done: a limit, or an interrupt.
func ended(ctx context.Context) error {
	var limit *LimitError
	if errors.As(context.Cause(ctx), &limit) {
		return limit
	}
	return ErrInterrupted
}

// spent tells whether the budget is used up.
func (r *run) spent() bool {
	return r.options.Budget > 0 && time.Since(r.started) >= r.options.Budget
}

// savePrograms puts the programs of trials into the campaign, before any trial
// names them.
func (r *run) savePrograms(trials []*trial) error {
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

// outcome enters a trial's record and tells of it.
func (r *run) outcome(t *trial, record results.Trial) {
	t.take(record)
	if record.Outcome != results.OK {
		r.summary.Failed++
	}
	r.event.Done++
	r.cell.enter([]*trial{t})
	r.tell(TrialDone, &record)
}

// tell reports an event.
func (r *run) tell(kind EventKind, t *results.Trial) {
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
