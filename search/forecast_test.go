package search

import (
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/program"
)

// TestForecastIsTheSearch: a forecast enumerates what the search does, refuses nothing that
// the search tunes, and expects its trials within a factor of 3: on a few GPUs bounds exclude more
// than on many.
func TestForecastIsTheSearch(t *testing.T) {
	all := []problem{
		{"dgx-a100", 2, "alltoall", []int64{1 << 10, 64 << 10, 4 << 20, 256 << 20}},
		{"frontier", 1, "allgather", []int64{64 << 10, 16 << 20, 1 << 30}},
		{"l40s-4", 1, "reducescatter", []int64{64 << 10, 1 << 30}},
	}
	if os.Getenv("COLLTUNE_LONG") != "" {
		all = append(all, problem{"dgx-a100", 8, "alltoall", []int64{1 << 10, 64 << 10, 4 << 20, 256 << 20}},
			problem{"perlmutter", 8, "allgather", []int64{16 << 20, 256 << 20}})
	}
	for _, pr := range all {
		p, source := pr.resolve(t)
		o := Options{Executor: "sim", Solver: "pb", Memory: 8 << 30}
		r, err := resolve(p, o)
		if err != nil {
			t.Fatal(err)
		}
		f, expected, err := r.foresee(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := results.Create(t.TempDir()+"/campaign", PlanOf(p, o, source, Settings{Version: "test", ExecutorName: "sim"}))
		if err != nil {
			t.Fatal(err)
		}
		var made autotune.Summary
		made, err = Run(t.Context(), p, o, c, Effort{Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil }), Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		space, err := Enumerate(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		smaller := 0 // made for fewer SMs
		for i := range space.Candidates {
			if space.Candidates[i].Parameters[program.SMs] != nil {
				smaller++
			}
		}
		for _, r := range space.Refusals {
			if strings.Contains(r.Candidate, " "+program.SMs+"=") {
				smaller++
			}
		}
		if ratio := float64(expected.trials) / float64(made.Trials); ratio < 1./3 || ratio > 3 {
			t.Errorf("%v: %d trials expected, %d made", pr, expected.trials, made.Trials)
		}
		if f.Enumerated != space.Enumerated()-smaller || f.Candidates < made.Tuned+made.BoundedOut-smaller || smaller == 0 || f.Candidates+len(f.Refusals) != f.Enumerated || f.References != 0 {
			t.Errorf("%v: forecast %d enumerated, %d candidates, %d references; the search had %d, of which %d and %d", pr, f.Enumerated, f.Candidates, f.References, space.Enumerated(), made.Tuned, made.BoundedOut)
		}
		if *f.Seconds <= 0 || f.Memory < 3*processMemory {
			t.Errorf("%v: %v s, %d bytes", pr, *f.Seconds, f.Memory)
		}
		c.Close()
	}
}

// TestStepsAreTheSimulators: the steps counted for drafts are those of their whole programs in the
// simulator, merged threadblocks or not; and one instance has about as many as all where none
// are merged.
func TestStepsAreTheSimulators(t *testing.T) {
	single, whole, merged := 0, 0, 0
	for _, pr := range []problem{{"perlmutter", 2, "allgather", []int64{16 << 20}}, {"frontier", 2, "reducescatter", []int64{16 << 20}}} {
		eachOn(t, pr, Options{Executor: "sim", Solver: "pb", Families: []string{"multi-level"}}, func(p *placement) {
			chosen, err := p.worthBuilding(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Summarize(t.Context(), chosen.Drafts, true); err != nil {
				t.Fatal(err)
			}
			counted, err := p.countSteps(t.Context(), chosen.Drafts)
			if err != nil {
				t.Fatal(err)
			}
			steps := func(d *program.Draft, instances int) int {
				traced, err := d.Routing.Traced()
				if err != nil {
					t.Fatal(err)
				}
				compiled, _, err := p.Lower(t.Context(), traced, d, instances, false)
				if err != nil {
					return 0 // too many channels or threadblocks
				}
				prepared, err := sim.Prepare(compiled, p.problem.Topology)
				if err != nil {
					t.Fatal(err)
				}
				return prepared.Steps()
			}
			for _, d := range chosen.Drafts {
				want := steps(d, d.Instances)
				if counted[d] != want {
					t.Errorf("%v on %s: %d steps, want %d", d, pr.topology, counted[d], want)
				}
				switch fits := d.Routing.Cost().Ends*d.Instances <= d.Routing.Cost().SMs; {
				case !fits && want > 0:
					merged++
				case fits && want > 0 && d.Instances > 1:
					single, whole = single+steps(d, 1), whole+want
				}
			}
		})
	}
	if ratio := float64(single) / float64(whole); merged == 0 || ratio < 1./3 || ratio > 3 {
		t.Errorf("%d programs with merged threadblocks; of the others %d steps of one instance, %d of all", merged, single, whole)
	}
}
