package search

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/limited"
	"github.com/colltune/colltune/search/program"
)

// Forecast is what a search will do and what that will take. It is made of the drafts. Samples of
// those that are likely tried are compiled, to count the steps that the simulator goes through.
//
//	trace ─▶ estimate ─▶ choose ─┤ compile ─▶ verify ─▶ bounds ─▶ trials
//	     took so long here       │ foreseen by operations       by steps and tiles
type Forecast struct {
	Enumerated int               // candidates, refused ones included
	Refusals   []program.Refusal // of those that need not be compiled to be refused
	Candidates int               // the others: each is tuned, unless compiling it refuses it. For fewer SMs there will be more
	References int               // programs for comparison only
	Seconds    *float64          // of the whole search on this machine; nil where trials are not simulated, or chosen by other than their bounds
	Memory     int64             // most bytes at a time, of the search and its executors
}

// What a search on the simulator takes, in processor seconds and bytes: middles of whole
// searches (docs/measurements/memory.md), where the limits of program.Memory are the most of any.
const (
	builtSeconds    = 6e-6   // of an operation that is compiled, verified and kept
	movedSeconds    = 0.3e-6 // of a chunk that one of them moves
	preparedSeconds = 5e-6   // of an operation that an executor is sent and prepares
	calledSeconds   = 2e-6   // of a call of a step that the simulator goes through
	missSeconds     = 1e-11  // of such a step, for each other one: steps of a large program miss the cache
	trialSeconds    = 3e-3   // of a trial beside that
	startSeconds    = 0.5    // of the processes

	processMemory   = 32 << 20 // of a process
	keptMemory      = 100      // of an operation that is kept to be tried
	builtMemory     = 600      // of an operation that is compiled, of as many programs as there are jobs
	simulatedMemory = 300      // of an operation that is tried, in each executor

	// likely is how much longer than the best one's at its size a trial's estimate is, at
	// most, for its bound to let it be made.
	likely = 1.3
	// fewestTrials are begun at a size before the first one's time excludes any.
	fewestTrials = 4
	// steadyTiles is after how many tiles the simulator mostly extrapolates.
	steadyTiles = 16
)

// Foresee makes the forecast of a search, for all placements of its problem. Errors are as
// those of Enumerate.
func Foresee(ctx context.Context, p Problem, o Options) (*Forecast, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return abandonable(ctx, r, func(r *request) (*Forecast, error) {
		f, _, err := r.foresee(ctx)
		return f, err
	})
}

// foresee makes the forecast, and the workload that it is made of.
func (r *request) foresee(ctx context.Context) (*Forecast, *workload, error) {
	o := &r.options
	began, f, all := time.Now(), &Forecast{}, &workload{jobs: min(o.jobs(), runtime.NumCPU())}
	all.timed = o.simulates() && cmp.Or(o.Strategy, autotune.Bounded) == autotune.Bounded
	if err := r.eachPlacement(nil, nil, func(p *placement) error { return p.foresee(ctx, f, all) }); err != nil {
		return nil, nil, err
	}
	f.Enumerated, f.Memory = f.Candidates+len(f.Refusals), all.memory()
	if all.timed {
		seconds := time.Since(began).Seconds() + all.seconds()
		f.Seconds = &seconds
	}
	return f, all, nil
}

// foresee adds a placement to a forecast, and to the workload that it is made of.
func (p *placement) foresee(ctx context.Context, f *Forecast, all *workload) error {
	if _, err := p.Solvers(); err != nil {
		return err
	}
	chosen, err := p.worthBuilding(ctx)
	if err != nil {
		return err
	}
	if err := p.Summarize(ctx, chosen.Drafts, true); err != nil {
		return err
	}
	f.Refusals = append(f.Refusals, chosen.Refusals...)
	var left []*program.Draft
	unaffordable := program.Memory(p.options.Memory).Unaffordable(chosen.Drafts, p.of)
	for i, d := range chosen.Drafts {
		refused := p.Unfitting(d)
		if unaffordable[i] != nil {
			refused = unaffordable[i]
		}
		switch {
		case refused == nil && d.Reference:
			f.References++
		case refused == nil:
			f.Candidates++
		case !d.Reference:
			f.Refusals = append(f.Refusals, p.Refuse(d.String(), refused.Reason, refused.Detail))
		}
		if refused == nil {
			left = append(left, d)
		}
	}
	f.Candidates += len(chosen.settled.all)
	all.built = append(append(all.built, left...), chosen.settled.drafts...)
	var trials []trial
	for _, bytes := range p.problem.Sizes {
		trials = append(trials, p.likelyTrials(left, bytes)...)
	}
	if err := all.add(ctx, p, trials); err != nil {
		return err
	}
	p.options.noticeMemory(f.Refusals)
	return nil
}

// trial is a run of a draft at a size.
type trial struct {
	*program.Draft
	us    float64
	calls float64 // of a step of one instance, until the simulator extrapolates
}

// likelyTrials lists the trials of drafts at a size that bounds will not exclude.
func (p *placement) likelyTrials(drafts []*program.Draft, bytes int64) (trials []trial) {
	for _, d := range drafts {
		instances := float64(max(d.Instances, 1))
		chunk := float64(bytes) / float64(d.Routing.Cost().Loop) / instances
		chunks := d.Routing.Cost().Moved / float64(max(d.Routing.Operations(), 1)) // of a message
		for _, proto := range p.Protocols(d.Protocol) {
			c, seen := &p.problem.Topology.Protocols[proto], map[float64]bool{}
			for _, tile := range p.Tiles(c) {
				us := d.Routing.Cost().Tiled(c, float64(tile), bytes, instances)
				if seen[us] {
					continue // it runs alike
				}
				seen[us] = true
				tiles := max(math.Ceil(chunk/float64(tile)), 1)
				trials = append(trials, trial{d, us, min(tiles, steadyTiles) * max(chunks*chunk/tiles/float64(tile), 1)})
			}
		}
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.us, b.us) })
	for i, t := range trials {
		if i >= fewestTrials && t.us > likely*trials[0].us {
			return trials[:i]
		}
	}
	return trials
}

// sample is what is compiled of a draft to count its steps.
type sample struct {
	routing   *program.Routing
	instances int
}

// sampleOf returns the sample of a draft: all instances of a small program, else one, as the
// others do the same; ok is false where a GPU lacks SMs for the threadblocks of all, so that
// the compiler merges some, and then mostly no two ranks do the same.
func sampleOf(d *program.Draft) (s sample, ok bool) {
	instances := max(d.Instances, 1)
	if d.Operations() <= program.MaxHeld {
		return sample{d.Routing, instances}, true
	}
	return sample{d.Routing, 1}, d.Routing.Cost().Ends*instances <= d.Routing.Cost().SMs
}

// maxSampled limits the operations of samples that are compiled at the same time.
const maxSampled = 1 << 23

// countSteps counts, for each draft, the steps that the simulator goes through in each tile. A
// program that can't be compiled has none; one without a sample is gone through whole.
func (p *placement) countSteps(ctx context.Context, drafts []*program.Draft) (map[*program.Draft]int, error) {
	var sampled []*program.Draft // one of each sample
	at, steps := map[sample]int{}, map[*program.Draft]int{}
	for _, d := range drafts {
		s, ok := sampleOf(d)
		if _, known := at[s]; ok && !known {
			at[s] = len(sampled)
			sampled = append(sampled, d)
		}
	}
	counts := make([]int, len(sampled))
	err := limited.ForEach(ctx, p.options.jobs(), len(sampled), maxSampled, func(i int) int64 { return int64(sampled[i].Routing.Operations()) }, func(i int) error {
		traced, err := sampled[i].Routing.Traced()
		if err != nil {
			return nil
		}
		s, _ := sampleOf(sampled[i])
		compiled, _, err := p.Lower(ctx, traced, sampled[i], s.instances, false)
		if err != nil {
			return ctx.Err()
		}
		if prepared, err := sim.Prepare(compiled, p.problem.Topology); err == nil {
			counts[i] = prepared.Steps()
		}
		return nil
	})
	for _, d := range drafts {
		if s, ok := sampleOf(d); ok {
			steps[d] = counts[at[s]]
		} else {
			steps[d] = d.Operations()
		}
	}
	return steps, cmp.Or(err, ctx.Err())
}

// workload is what a search will do.
type workload struct {
	jobs      int
	timed     bool             // how long it takes is foreseen, too
	built     []*program.Draft // programs that are compiled
	tried     []*program.Draft // those of them with a likely trial
	trials    int
	simulated float64 // seconds of the trials
}

func (w *workload) add(ctx context.Context, p *placement, trials []trial) error {
	var tried []*program.Draft
	for _, t := range trials {
		if !slices.Contains(tried, t.Draft) {
			tried = append(tried, t.Draft)
		}
	}
	w.tried, w.trials = append(w.tried, tried...), w.trials+len(trials)
	if !w.timed {
		return nil
	}
	steps, err := p.countSteps(ctx, tried)
	if err != nil {
		return err
	}
	for _, t := range trials {
		n := float64(steps[t.Draft])
		w.simulated += n * (calledSeconds*t.calls + missSeconds*n)
	}
	return nil
}

func (w *workload) seconds() float64 {
	moved := 0.0
	for _, d := range w.built {
		moved += d.Routing.Cost().Moved * float64(max(d.Instances, 1))
	}
	prepared := min(w.jobs, max(w.trials, 1)) * program.OperationsOf(w.tried) // by each executor
	return (startSeconds + float64(program.OperationsOf(w.built))*builtSeconds + moved*movedSeconds + float64(prepared)*preparedSeconds +
		w.simulated + float64(w.trials)*trialSeconds) / float64(w.jobs)
}

func (w *workload) memory() int64 {
	slices.SortStableFunc(w.built, func(a, b *program.Draft) int { return b.Operations() - a.Operations() })
	largest := program.OperationsOf(w.built[:min(w.jobs, len(w.built))])
	return int64(1+w.jobs)*processMemory + keptMemory*int64(program.OperationsOf(w.built)) + builtMemory*int64(largest) +
		int64(w.jobs)*simulatedMemory*int64(program.OperationsOf(w.tried))
}
