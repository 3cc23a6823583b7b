package autotune

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
)

// Limits of the simulator's work for a prior. They count work and not time, so that the
// prior is the same on every machine.
const (
	priorEvents = 20e6    // of the simulations' queues, shared evenly by the sizes
	priorSteps  = 1 << 22 // of the programs that are kept prepared
	// priorPart: a point whose lower bound is above this many times the fastest simulated
	// time at its size is not simulated.
	priorPart = 1.5
)

// point is a trial, and where it stands in a space.
type point struct {
	model.Point
	*trial
}

// prior returns what models say of a space before any trial, in µs by configuration and
// size; 0 where they say nothing, nil if they say nothing at all. Of programs, the model is
// the simulator, also where ranks share GPUs, whose steps run side by side as on GPUs of
// their own; where ranks are no GPUs, it is their work. Of native algorithms it is
// Candidate.Prior.
func (s *space) prior(ctx context.Context, p *Problem, jobs int) ([][]float64, error) {
	times := make([][]float64, len(s.Configs))
	programs, some := map[*candidate][]point{}, false
	for config, row := range s.trials {
		times[config] = make([]float64, len(s.Sizes))
		for size, t := range row {
			switch {
			case t == nil:
			case t.Program != nil:
				programs[t.candidate] = append(programs[t.candidate], point{model.Point{Config: config, Size: size}, t})
			case t.Setting != nil:
				t.setBound(t.cell.bytes)
				times[config][size], some = t.bound, true
			case t.Prior != nil:
				times[config][size] = t.Prior(t.cell.bytes, t.proto)
				some = some || times[config][size] > 0
			}
		}
	}
	switch {
	case len(programs) == 0 && !some:
		return nil, nil
	case len(programs) == 0:
		return times, nil
	case p.InTurns:
		for _, points := range programs {
			for _, x := range points {
				times[x.Config][x.Size] = workUS(x.stepCounts, x.chunk(), x.tile)
			}
		}
		return times, nil
	}
	w := &simulation{problem: p, jobs: max(jobs, 1), most: priorEvents, times: times, kept: map[*candidate]*sim.Prepared{}}
	return times, w.simulateAll(ctx, programs)
}

// simulation is the work for a prior: times of programs on the topology. What is not
// simulated has its lower bound, times what the simulated points of its size take beyond
// theirs.
//
//	bounds of all points ─▶ at each size, by rising bound: simulate, until the bound is
//	                        too far above the fastest, or the size's part of the work is done
type simulation struct {
	problem *Problem
	jobs    int
	most    int64       // events to simulate
	times   [][]float64 // by configuration and size
	events  atomic.Int64

	mu    sync.Mutex
	kept  map[*candidate]*sim.Prepared // nil: the simulator can't run it
	steps int                          // of those
}

// simulateAll fills in the times of programs.
func (w *simulation) simulateAll(ctx context.Context, programs map[*candidate][]point) error {
	var each [][]point
	for _, points := range programs {
		each = append(each, points)
	}
	err := w.each(ctx, len(each), func(i int) {
		if p := w.prepared(each[i][0].candidate); p != nil {
			for _, x := range each[i] {
				*w.at(x) = p.LowerBound(w.knobs(x.trial))
			}
		}
	})
	if err != nil {
		return err
	}
	sizes := make([][]point, len(w.times[0]))
	for _, points := range each {
		for _, x := range points {
			if *w.at(x) > 0 {
				sizes[x.Size] = append(sizes[x.Size], x)
			}
		}
	}
	for i, size := range model.CoarseFirst(len(sizes)) {
		done := w.events.Load()
		if err := w.simulate(ctx, sizes[size], done+(w.most-done)/int64(len(sizes)-i)); err != nil {
			return err
		}
	}
	return nil
}

// at is where a point's time is kept.
func (w *simulation) at(x point) *float64 { return &w.times[x.Config][x.Size] }

// simulate replaces bounds by simulated times at the points of one size, until events is the
// number of events simulated for all sizes.
func (w *simulation) simulate(ctx context.Context, points []point, events int64) error {
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(*w.at(a), *w.at(b)), cmp.Compare(a.Config, b.Config))
	})
	best := math.Inf(1)
	var beyond []float64 // time ÷ bound
	for len(points) > 0 && (len(beyond) == 0 || w.events.Load() < events) && *w.at(points[0]) <= priorPart*best {
		batch := points[:min(len(points), batchSize)]
		points = points[len(batch):]
		ratios := make([]float64, len(batch))
		err := w.each(ctx, len(batch), func(i int) {
			x := batch[i]
			bound := *w.at(x)
			if p := w.prepared(x.candidate); p != nil {
				if result, err := p.RunContext(ctx, w.knobs(x.trial)); err == nil {
					*w.at(x) = result.TimeUS
					w.events.Add(result.Events)
				}
			}
			ratios[i] = *w.at(x) / bound
		})
		if err != nil {
			return err
		}
		for _, x := range batch {
			best = min(best, *w.at(x))
		}
		beyond = append(beyond, ratios...)
	}
	for _, x := range points {
		*w.at(x) *= results.Median(beyond)
	}
	return nil
}

// knobs are a trial's, for the simulator.
func (w *simulation) knobs(t *trial) sim.Knobs {
	return sim.Knobs{Bytes: t.cell.bytes, Protocol: t.proto, TileBytes: t.tile, ElemBytes: t.cell.elem}
}

// prepared returns a candidate's program on the topology; nil if the simulator can't run it.
func (w *simulation) prepared(c *candidate) *sim.Prepared {
	w.mu.Lock()
	p, known := w.kept[c]
	w.mu.Unlock()
	if known {
		return p
	}
	p, err := sim.Prepare(c.Program, w.problem.Topology)
	if err != nil {
		p = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.steps+c.allSteps <= priorSteps {
		w.kept[c] = p
		w.steps += c.allSteps
	}
	return p
}

// each calls do for the numbers below n, several at a time, until ctx is done.
func (w *simulation) each(ctx context.Context, n int, do func(int)) error {
	var all errgroup.Group
	all.SetLimit(w.jobs)
	for i := range n {
		all.Go(func() error {
			if ctx.Err() != nil {
				return stopCause(ctx)
			}
			do(i)
			return nil
		})
	}
	if err := all.Wait(); err != nil || ctx.Err() == nil {
		return err
	}
	return stopCause(ctx) // what is simulated last may be cut short
}
