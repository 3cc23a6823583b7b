package autotune

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// A batch of large programs is small, but never smaller than the number of jobs.
func TestBatchesOfLargePrograms(t *testing.T) {
	for _, c := range []struct {
		steps int
		want  []int
	}{
		{1, []int{16, 16, 8}},
		{1 << 18, []int{16, 16, 8}},
		{1 << 19, []int{8, 8, 8, 8, 8}},
		{1 << 21, []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
	} {
		of := &cell{classes: []class{{name: "any", contains: func(*results.Trial, *ir.Program) bool { return true }}}, best: make([]*trial, 1)}
		for range 40 {
			of.trials = append(of.trials, &trial{candidate: &candidate{Candidate: &Candidate{}, allSteps: c.steps}, memberOf: make([]membership, 1)})
		}
		seen := 0
		for i, next := 0, 0; next < len(of.trials); i++ {
			var batch []*trial
			batch, next = of.batch(next, 40)
			if i >= len(c.want) || len(batch) != c.want[i] {
				t.Fatalf("%d steps each: batch %d has %d trials, want %v", c.steps, i, len(batch), c.want)
			}
			seen += len(batch)
		}
		if seen != len(of.trials) {
			t.Errorf("%d steps each: %d of %d trials in batches", c.steps, seen, len(of.trials))
		}
	}
}

// The winner at a size is tried first at the next, so that fewer trials that cannot win
// are run: the winner's bound is the 21st of 40.
func TestWinnersAreTriedFirst(t *testing.T) {
	const winner = 20
	var candidates []Candidate
	number := map[string]int{}
	for i := range 40 {
		p := ring(1, i, true)
		number[p.Hash()] = i
		candidates = append(candidates, Candidate{
			Algorithm: "ring", Source: "template", Parameters: map[string]any{"mark": i}, Channels: 1, Instances: 1,
			Program: p, Hash: p.Hash(), SlotsNeeded: 1, Protocols: []topologies.Proto{topologies.LL},
			Bound: func(int64, topologies.Proto, int64) float64 { return 100 + float64(i) },
		})
	}
	made := map[int64]int{}
	e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
		made[trial.Bytes]++
		i := number[trial.Program.Hash()]
		us := 1000.0
		if i == winner {
			us = 100 + float64(i)
		}
		return executor.Measurement{TimesUS: []float64{us}}, nil
	})
	problem := testProblem()
	problem.Sizes = []int64{1 << 10, 1 << 11}
	problem.Tiles[topologies.LL] = []int64{32768}
	plan := testPlan("in")
	plan.Sizes = problem.Sizes
	if _, err := Run(context.Background(), problem, candidates, optionsFor(campaignOf(t, plan), e, 1)); err != nil {
		t.Fatal(err)
	}
	if first, then := made[1<<10], made[1<<11]; first != 32 || then != winner+1 {
		t.Errorf("%d and %d trials: want two batches of 16, and then the winner with the %d whose bounds are below its time", first, then, winner)
	}
}

// A computed time is abandoned when the budget is used up, nothing of it is recorded,
// and the resumed campaign reaches the same results. A trial on a device is completed.
func TestBudgetAbandonsComputedTrials(t *testing.T) {
	f := field{5}
	candidates := f.candidates(6, true, true)
	problem := testProblem()
	whole := newCampaign(t, "in")
	tuned(t, whole, candidates, optionsFor(whole, fakeOf(f), 2))

	c := newCampaign(t, "in")
	var calls atomic.Int32
	e := newFake(func(ctx context.Context, trial executor.Trial) (executor.Measurement, error) {
		if calls.Add(1) > 5 {
			<-ctx.Done() // as a simulation of minutes
			return executor.Measurement{}, ctx.Err()
		}
		return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
	})
	o := optionsFor(c, e, 2)
	o.Budget = 100 * time.Millisecond
	summary, err := Run(context.Background(), problem, candidates, o)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != "budget" || limit.Value != "100ms" {
		t.Fatalf("%v, want the budget of 100ms to be spent", err)
	}
	if summary.Cells != len(testSizes) || summary.Finished >= summary.Cells {
		t.Errorf("%d of %d sizes finished", summary.Finished, summary.Cells)
	}
	for _, trial := range c.Trials() {
		if trial.Outcome != results.OK {
			t.Errorf("a trial that was given up is in the journal: %s, %s", trial.Outcome, trial.Note)
		}
	}
	tuned(t, c, candidates, optionsFor(c, fakeOf(f), 2))
	if got, want := tableOf(t, c, true), tableOf(t, whole, true); got != want {
		t.Errorf("after a budget:\n%s\nwithout one:\n%s", got, want)
	}

	var hurried atomic.Bool
	device := newFake(func(ctx context.Context, trial executor.Trial) (executor.Measurement, error) {
		if _, ok := ctx.Deadline(); ok {
			hurried.Store(true)
		}
		return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
	})
	device.description.Deterministic = false
	o = optionsFor(newCampaign(t, "in"), device, 2)
	o.Budget = 5 * time.Millisecond
	if _, err := Run(context.Background(), problem, candidates, o); err != nil && !errors.Is(err, ErrLimit) {
		t.Fatal(err)
	}
	if hurried.Load() {
		t.Error("a trial on a device was given the budget's deadline")
	}
}

// Bounds that are no positive numbers do not change the order of trials.
func TestUselessBoundsDoNotOrder(t *testing.T) {
	of := &cell{}
	for _, b := range []float64{math.Inf(1), 3, math.NaN(), -1, 2} {
		of.trials = append(of.trials, &trial{candidate: &candidate{Candidate: &Candidate{Bound: func(int64, topologies.Proto, int64) float64 { return b }}}})
	}
	of.trials = append(of.trials, &trial{candidate: &candidate{Candidate: &Candidate{}}})
	if err := of.sortByBound(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	var got []float64
	for _, one := range of.trials {
		got = append(got, one.bound)
	}
	if len(got) != 6 || got[3] != 0 || got[4] != 2 || got[5] != 3 {
		t.Errorf("bounds %v, want four of 0, then 2 and 3", got)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	of.sorted = false
	if err := of.sortByBound(cancelled, 3); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v, want ErrInterrupted", err)
	}
}

// Tiles with which a program makes the same calls are one trial.
func TestTilesThatRunAlikeAreOneTrial(t *testing.T) {
	p := testProblem()
	given := field{1}.candidates(1, true, false)
	all, _, _, err := prepare(&p, 4, func(topologies.Proto) bool { return true }, given)
	if err != nil {
		t.Fatal(err)
	}
	for bytes, want := range map[int64][]int64{
		1 << 10: {32768},               // a chunk fits every tile: the runtime's own stands for all
		1 << 26: {32768, 8192, 131072}, // a chunk fills many
	} {
		c := newCell(&p, newClasses(4, "sum", "f32"), all, bytes, 4, "in")
		var tiles []int64
		for _, trial := range c.trials {
			if trial.proto == topologies.LL {
				tiles = append(tiles, trial.tile)
			}
		}
		if !slices.Equal(tiles, want) {
			t.Errorf("%d bytes: tiles %v, want %v", bytes, tiles, want)
		}
	}
}

// A budget that ends early has looked at all sizes: soon at each of them, and when the first
// one is completed each has had half of its part of the trials. To its end, the winners are those of
// a run without one.
func TestBudgetLooksAtAllSizes(t *testing.T) {
	f := field{6}
	candidates := f.candidates(12, true, true)
	whole := newCampaign(t, "in")
	tuned(t, whole, candidates, optionsFor(whole, fakeOf(f), 1))

	c := newCampaign(t, "in")
	o := optionsFor(c, fakeOf(f), 1)
	o.Budget = time.Hour
	var order []int64 // the size of each trial
	var finished int  // trials before the first size was completed
	o.Progress = func(e Event) {
		switch {
		case e.Kind == TrialDone && finished == 0:
			order = append(order, e.Bytes)
		case e.Kind == CellFinished && finished == 0:
			finished = len(order)
		}
	}
	tuned(t, c, candidates, o)
	for _, bytes := range testSizes {
		if !slices.Contains(order[:2*len(testSizes)], bytes) {
			t.Errorf("the first trials are not at %d bytes: %v", bytes, order)
		}
		made := 0
		for _, at := range order {
			if at == bytes {
				made++
			}
		}
		if len(testSizes)*made*2 < finished {
			t.Errorf("%d of %d trials are at %d bytes when the first size is completed", made, finished, bytes)
		}
	}
	if got, want := tableOf(t, c, true), tableOf(t, whole, true); got != want {
		t.Errorf("with a budget:\n%s\nwithout one:\n%s", got, want)
	}
}
