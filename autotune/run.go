package autotune

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/colltune/colltune/topologies"
)

// Run tunes candidates over the problem's sizes and records every trial in the
// campaign's journal, in the order of a strategy. With an error, the summary says how far it came.
// After a LimitError, ErrInterrupted or a lost executor (executor.ErrLost) the
// campaign goes on when Run is called again. An UnansweredError comes after
// everything was tried: at some sizes nothing can win.
func Run(ctx context.Context, p Problem, candidates []Candidate, o Options) (Summary, error) {
	if err := p.check(); err != nil {
		return Summary{}, err
	}
	r := &tuner{problem: p, options: o, started: time.Now()}
	description, err := r.describeBackend(ctx)
	if err != nil {
		return Summary{}, err
	}
	name := StrategyOf(o.Strategy, description.Deterministic)
	if err := CheckStrategy(name); err != nil {
		return r.summary, err
	}
	how := strategies[slices.Index(Strategies(), name)]
	does := func(proto topologies.Proto) bool {
		return len(description.Protocols) == 0 || slices.Contains(description.Protocols, proto.String())
	}
	prepared, refused, duplicates, err := prepare(&p, p.ElemBytes(), does, candidates)
	if err != nil {
		return Summary{}, err
	}
	r.summary.Refused, r.summary.Duplicates = refused, duplicates
	ctx, cancel := r.withBudget(ctx)
	defer cancel()

	r.cells = newCells(&p, prepared)
	for _, c := range r.cells {
		r.event.Trials += len(c.trials)
	}
	r.event.Cells, r.summary.Cells = len(r.cells), len(r.cells)
	if err := r.tune(ctx, how.start(r)); err != nil {
		r.summary.countCandidates(prepared, &p, false, how.proves)
		return r.summary, err
	}
	r.summary.countCandidates(prepared, &p, true, how.proves)
	return r.summary, unanswered(r.cells)
}

// follow measures what a chooser chooses, until that is nothing.
func (r *tuner) follow(ctx context.Context, next func(context.Context) ([]*trial, error)) error {
	for {
		trials, err := next(ctx)
		if err != nil || len(trials) == 0 {
			return err
		}
		if err := r.measure(ctx, trials); err != nil {
			return err
		}
	}
}

// tune measures in all cells what a chooser chooses, and confirms the winners.
func (r *tuner) tune(ctx context.Context, c chooser) error {
	err := r.follow(ctx, c.next)
	// What confirms a winner may tell against it, or for another.
	for open := true; open && err == nil; {
		if open, err = r.confirmOne(ctx); open && err == nil {
			err = r.follow(ctx, c.next)
		}
	}
	if err == nil {
		err = r.follow(ctx, c.files)
	}
	if err == nil || errors.Is(err, ErrLimit) && r.limitReached(1) == nil {
		err = cmp.Or(r.confirm(ctx), err)
	}
	r.summary.Finished, r.summary.Outlook = c.outlook()
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
