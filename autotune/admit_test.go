package autotune

import (
	"context"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

// With a runtime requested, every trial is one that the runtime would load and run as
// measured, and its exports are as fast as the table.
func TestRuntimeAdmitsWhatItRuns(t *testing.T) {
	f := field{3}
	for _, runtime := range export.Runtimes() {
		p := testProblem()
		p.Runtime = runtime.Name
		c := newCampaign(t, "in")
		candidates := f.candidates(12, true, true)
		// What the vendor's library does is no multiple of anything.
		odd := &candidates[2] // three instances: 12 chunks
		for _, n := range testSizes {
			odd.Baseline = append(odd.Baseline, Point{Bytes: n, Protocol: topologies.LL})
		}
		summary, err := Run(context.Background(), p, candidates, optionsFor(c, fakeOf(f), 2))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetTally(results.Tally{Finished: true, Enumerated: len(candidates)}); err != nil {
			t.Fatal(err)
		}
		compared, own := 0, 0
		for _, trial := range c.Trials() {
			if trial.Reference {
				compared++
				continue
			}
			own++
			if why := runtime.Runs(&trial, 4); why != "" {
				t.Errorf("%s would not run a trial: %s", runtime.Name, why)
			}
			program, err := c.Program(trial.Program)
			if err != nil {
				t.Fatal(err)
			}
			if why := runtime.Accepts(program, trial.Protocol); why != "" {
				t.Errorf("%s would not load a trial's program: %v", runtime.Name, why)
			}
		}
		if compared != len(testSizes) || own == 0 {
			t.Errorf("%s: %d trials to be compared with, %d others", runtime.Name, compared, own)
		}
		if summary.Refused[refusedRuntime] == 0 {
			t.Errorf("%s: %+v: want programs of 12 chunks refused", runtime.Name, summary)
		}
		o := runtime.Export
		o.Out = t.TempDir()
		report, err := export.Write(c, o)
		if err != nil || len(report.Gaps) > 0 || len(report.Losses) > 0 {
			t.Errorf("%s: %v: the export has losses %v and gaps %v", runtime.Name, err, report.Losses, report.Gaps)
		}
	}
	p := testProblem()
	p.Runtime = "mscl"
	if _, err := Run(context.Background(), p, nil, Options{}); err == nil || !strings.Contains(err.Error(), "mscl") {
		t.Errorf("%v, want the runtime to be unknown", err)
	}
}

// A time below the bound of any routing is no result and wins nothing.
func TestTimesBelowTheBoundAreRefused(t *testing.T) {
	f := field{4}
	candidates := f.candidates(6, true, true)
	lying := candidates[1].Hash
	e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
		us := f.time(trial)
		if trial.Program.Hash() == lying {
			us = 1
		}
		return executor.Measurement{TimesUS: []float64{us}}, nil
	})
	const least = 2.0
	p := testProblem()
	p.LeastUS = func(bytes int64) float64 {
		if bytes == testSizes[0] {
			return 1 * (1 + 1e-12) // met, but for rounding
		}
		return least
	}
	c := newCampaign(t, "in")
	if _, err := Run(context.Background(), p, candidates, optionsFor(c, e, 2)); err != nil {
		t.Fatal(err)
	}
	lies := 0
	for _, trial := range c.Trials() {
		switch {
		case trial.Program != lying:
		case trial.Bytes == testSizes[0]:
			if trial.Outcome != results.OK {
				t.Errorf("a time equal to the bound is %s: %s", trial.Outcome, trial.Note)
			}
		default:
			lies++
			if trial.Outcome != results.Failed || !strings.Contains(trial.Note, "faster than any routing can be: 1 us, bound 2 us") {
				t.Errorf("%s: %s", trial.Outcome, trial.Note)
			}
		}
	}
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	if lies == 0 || len(winners.Rows) != len(testSizes) {
		t.Errorf("%d trials faster than possible, %d rows", lies, len(winners.Rows))
	}
	for _, r := range winners.Rows {
		if r.Bytes != testSizes[0] && (r.TimeUS < least || r.IR == lying) {
			t.Errorf("%d bytes: won by %v us", r.Bytes, r.TimeUS)
		}
	}
}

// If the ranks do not use the topology's links, its bounds neither refute a time nor
// exclude a trial.
func TestOtherLinksHaveNoBounds(t *testing.T) {
	f := field{4}
	made := func(other bool) (Summary, *results.Campaign) {
		p := testProblem()
		p.OtherLinks = other
		if !other {
			p.LeastUS = func(int64) float64 { return 1e-3 }
		}
		c := newCampaign(t, "in")
		summary, err := Run(context.Background(), p, f.candidates(8, true, true), optionsFor(c, fakeOf(f), 2))
		if err != nil {
			t.Fatal(err)
		}
		return summary, c
	}
	bounded, _ := made(false)
	all, c := made(true)
	exhaustive := newCampaign(t, "in")
	_, want := tuned(t, exhaustive, f.candidates(8, true, false), optionsFor(exhaustive, fakeOf(f), 2))
	if all.Trials != want.Trials || bounded.Trials >= all.Trials || all.BoundedOut != 0 {
		t.Errorf("%d trials with the bounds, %d without, %d of all there are; %d bounded out", bounded.Trials, all.Trials, want.Trials, all.BoundedOut)
	}
	for _, trial := range c.Trials() {
		if trial.Outcome != results.OK {
			t.Errorf("%s: %s", trial.Outcome, trial.Note)
		}
	}
}
