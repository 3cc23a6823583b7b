package search

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Forecast is what a search will do and what that will take. It is made of the drafts, before
// any of them is compiled.
//
//	trace ─▶ estimate ─▶ choose ─┤ compile ─▶ verify ─▶ bounds ─▶ trials
//	     took so long here       │      foreseen by operations
type Forecast struct {
	Enumerated int       // candidates, refused ones included
	Refusals   []Refusal // of those that need not be compiled to be refused
	Candidates int       // the others: each is tuned, unless compiling it refuses it
	References int       // programs for comparison only
	Seconds    *float64  // of the whole search on this machine; nil where trials are not simulated, or chosen by other than their bounds
	Memory     int64     // most bytes at a time, of the search and its executors
}

// What a search on the simulator takes, in processor seconds and bytes: middles of whole
// searches (docs/measurements/memory.md), where the limits of memory.go are the most of any.
const (
	builtSeconds     = 5e-6    // of an operation that is compiled, verified and kept
	simulatedSeconds = 1.4e-6  // of an operation of a trial, in each tile
	trialSeconds     = 3e-3    // of a trial beside that
	startSeconds     = 0.5     // of the processes
	builtTwice       = 1 << 19 // operations of a program of which each takes twice as long to build
	simulatedTwice   = 1 << 16 // the same, in a trial

	processMemory   = 32 << 20 // of a process
	keptMemory      = 100      // of an operation that is kept to be tried
	builtMemory     = 600      // of an operation that is compiled, of as many programs as there are jobs
	simulatedMemory = 300      // of an operation that is tried, in each executor

	// likely is how much longer than the best one's at its size a trial's estimate is, at
	// most, for its bound to let it be made.
	likely = 1.3
	// fewestTrials are begun at a size before the first one's time excludes any.
	fewestTrials = 4
	// steadyTiles is after how many tiles the simulator extrapolates.
	steadyTiles = 8
)

// Foresee makes the forecast of a search, for all placements of its problem. Errors are as
// those of Enumerate.
func Foresee(ctx context.Context, p Problem, o Options) (*Forecast, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return runAbandonable(ctx, func(say func(func())) (*Forecast, error) {
		o := r.options
		o.Observer = o.Observer.through(say)
		began, f, all := time.Now(), &Forecast{}, workload{jobs: min(o.jobs(), runtime.NumCPU())}
		placements := r.problem.placements()
		for i := range placements {
			e := &enumeration{problem: &placements[i], options: &o, machine: machineOf(p.Topology), placement: i, of: len(placements)}
			if err := e.foresee(ctx, r, f, &all); err != nil {
				return nil, err
			}
		}
		f.Enumerated, f.Memory = f.Candidates+len(f.Refusals), all.memory()
		if cmp.Or(o.Executor, "sim") == "sim" && cmp.Or(o.Strategy, autotune.Bounded) == autotune.Bounded {
			seconds := time.Since(began).Seconds() + all.seconds()
			f.Seconds = &seconds
		}
		return f, nil
	})
}

// foresee adds a placement to a forecast, and to the workload that it is made of.
func (e *enumeration) foresee(ctx context.Context, r *request, f *Forecast, all *workload) error {
	defer e.close()
	if _, err := e.solver(); err != nil {
		return err
	}
	chosen, _, err := e.worthBuilding(ctx, r.asked)
	if err != nil {
		return err
	}
	if err := e.summarizeAll(ctx, chosen.drafts, true); err != nil {
		return err
	}
	f.Refusals = append(f.Refusals, chosen.refusals...)
	var left []*draft
	unaffordable := e.refuseUnaffordable(chosen.drafts)
	for i, d := range chosen.drafts {
		refused := e.unfitting(d)
		if unaffordable[i] != nil {
			refused = unaffordable[i].refusal
		}
		switch {
		case refused == nil && d.reference:
			f.References++
		case refused == nil:
			f.Candidates++
		case !d.reference:
			f.Refusals = append(f.Refusals, e.refuse(d.String(), refused.Reason, refused.Detail))
		}
		if refused == nil {
			left = append(left, d)
		}
	}
	all.built = append(all.built, left...)
	for _, bytes := range e.problem.Sizes {
		e.foreseeTrials(left, bytes, all)
	}
	e.options.noticeMemory(f.Refusals)
	return nil
}

// foreseeTrials adds the likely trials of drafts at a size.
func (e *enumeration) foreseeTrials(drafts []*draft, bytes int64, all *workload) {
	type trial struct {
		*draft
		us, tiles float64
	}
	var trials []trial
	for _, d := range drafts {
		instances := float64(max(d.instances, 1))
		chunk := float64(bytes) / float64(d.routing.cost.loop) / instances
		for _, proto := range e.protocolsOf(d.protocol) {
			c, seen := &e.problem.Topology.Protocols[proto], map[float64]bool{}
			for _, tile := range e.tiles(c) {
				us := d.routing.cost.tiled(c, float64(tile), bytes, instances)
				if seen[us] {
					continue // it runs alike
				}
				seen[us] = true
				trials = append(trials, trial{d, us, max(math.Ceil(chunk/float64(tile)), 1)})
			}
		}
	}
	slices.SortStableFunc(trials, func(a, b trial) int { return cmp.Compare(a.us, b.us) })
	for i, t := range trials {
		if i >= fewestTrials && t.us > likely*trials[0].us {
			break
		}
		all.trials++
		all.simulated += t.burden(simulatedTwice) * min(t.tiles, steadyTiles)
		if !slices.Contains(all.tried, t.draft) {
			all.tried = append(all.tried, t.draft)
		}
	}
}

// tiles lists the tiles that a protocol is tried with.
func (e *enumeration) tiles(c *topologies.Protocol) []units.Bytes {
	if e.options.TileBytes > 0 {
		return []units.Bytes{units.Bytes(e.options.TileBytes)}
	}
	return c.Tiles
}

// workload is what a search will do.
type workload struct {
	jobs      int
	built     []*draft // programs that are compiled
	tried     []*draft // those of them with a likely trial
	trials    int
	simulated float64 // operations times tiles of all trials, weighed as in burden
}

// burden is a draft's operations, each as many times as one takes longer than in a small
// program. It is twice where there are as many as twice.
func (d *draft) burden(twice float64) float64 {
	n := float64(d.operations())
	return n * (1 + n/twice)
}

func (w *workload) seconds() float64 {
	built := 0.0
	for _, d := range w.built {
		built += d.burden(builtTwice)
	}
	return (startSeconds + built*builtSeconds + w.simulated*simulatedSeconds + float64(w.trials)*trialSeconds) / float64(w.jobs)
}

func (w *workload) memory() int64 {
	slices.SortStableFunc(w.built, func(a, b *draft) int { return b.operations() - a.operations() })
	largest := operationsOf(w.built[:min(w.jobs, len(w.built))])
	return int64(1+w.jobs)*processMemory + keptMemory*int64(operationsOf(w.built)) + builtMemory*int64(largest) +
		int64(w.jobs)*simulatedMemory*int64(operationsOf(w.tried))
}
