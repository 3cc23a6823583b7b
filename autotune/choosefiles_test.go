package autotune

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
)

// manySizes are more than msccl has files, so that one must serve several. Not every
// program's chunks divide each of them.
var manySizes = []int64{1 << 10, 1 << 12, 1 << 14, 48 << 10, 1 << 16, 80 << 10, 1 << 18, 1 << 20, 3 << 20, 1 << 22, 1 << 24, 1 << 26}

// manySized is a campaign of these sizes, and the problem to tune.
func manySized(t testing.TB, placement string) (*results.Campaign, Problem) {
	t.Helper()
	plan, problem := testPlan(placement), testProblem()
	plan.Sizes, problem.Sizes = manySizes, manySizes
	c, err := results.Create(t.TempDir(), plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, problem
}

// both are a field's candidates in place and out of place.
func (f field) both(n int, bounded bool) []Candidate {
	return append(f.candidates(n, true, bounded), f.candidates(n, false, bounded)...)
}

// faulty measures a field in which one trial in ten fails, and one is wrong. The
// fastest of a cell may be among them.
func faulty(f field) *fake {
	return newFake(func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		switch int(f.time(t)*1e6) % 10 {
		case 3:
			return executor.Measurement{}, errors.New("no")
		case 7:
			return executor.Measurement{TimesUS: []float64{f.time(t)}, Wrong: 1}, nil
		}
		return executor.Measurement{TimesUS: []float64{f.time(t)}}, nil
	})
}

// msccl gets the files that it would get if every trial had been measured, whatever
// fails.
func TestExportMatchesExhaustiveSearch(t *testing.T) {
	trials, more, losses := 0, 0, 0
	for seed := range int64(3) {
		f := field{seed}
		for name, of := range map[string]func(field) *fake{"right": fakeOf, "faulty": faulty} {
			whole, problem := manySized(t, "both")
			if _, err := Run(context.Background(), problem, f.both(8, false), optionsFor(whole, of(f), 2)); err != nil {
				t.Fatal(err)
			}
			pruned, _ := manySized(t, "both")
			sizes := 0
			o := optionsFor(pruned, of(f), 2)
			o.Progress = func(e Event) {
				switch {
				case e.Kind != TrialDone:
				case e.Runtime == "":
					sizes++
				case e.Runtime != "msccl":
					t.Errorf("%s has enough files", e.Runtime)
				}
			}
			summary, err := Run(context.Background(), problem, f.both(8, true), o)
			if err != nil {
				t.Fatal(err)
			}
			a, b := exportsOf(t, whole), exportsOf(t, pruned)
			if a != b {
				t.Fatalf("seed %d, %s: of all is exported\n%s\nof %d trials\n%s", seed, name, a, summary.Trials, b)
			}
			trials, more, losses = trials+sizes, more+summary.Trials-sizes, losses+strings.Count(a, "msccl loads 4 files")
			whole.Close()
			pruned.Close()
		}
	}
	t.Logf("%d trials for the best of each size, and %d for the files", trials, more)
	if more == 0 || losses == 0 {
		t.Errorf("%d trials were made for files, and %d sizes lose by their number: want some of both", more, losses)
	}
}

// A search exports the same files however often it was interrupted, and whatever it knew
// of the candidates by then.
func TestInterruptionsExportTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	others := 0
	for seed := range int64(2) {
		f := field{seed}
		all := f.both(8, true)
		whole, problem := manySized(t, "both")
		made, err := Run(context.Background(), problem, all, optionsFor(whole, fakeOf(f), 2))
		if err != nil {
			t.Fatal(err)
		}
		want := exportsOf(t, whole)
		for range 2 {
			c, _ := manySized(t, "both")
			for cut := range 3 {
				o := optionsFor(c, fakeOf(f), 1+cut)
				o.Trials = 1 + r.IntN(made.Trials)
				// As under a budget: the first that were enumerated.
				some := all[:1+r.IntN(len(all))]
				if _, err := Run(context.Background(), problem, some, o); err != nil && !errors.Is(err, ErrLimit) && !errors.As(err, new(*UnansweredError)) {
					t.Fatal(err)
				}
			}
			summary, err := Run(context.Background(), problem, all, optionsFor(c, fakeOf(f), 2))
			if err != nil {
				t.Fatal(err)
			}
			if got := exportsOf(t, c); got != want {
				t.Fatalf("seed %d: after interruptions is exported\n%s\nwithout\n%s", seed, got, want)
			}
			others += summary.Known
			c.Close()
		}
		whole.Close()
	}
	if others == 0 {
		t.Error("no search was interrupted after its first trial")
	}
}

// A search that is interrupted at the trials for an export says so, and resumes with
// them.
func TestInterruptedAtExportTrials(t *testing.T) {
	f := field{1}
	whole, problem := manySized(t, "in")
	all, err := Run(context.Background(), problem, f.candidates(14, true, true), optionsFor(whole, fakeOf(f), 2))
	if err != nil || all.Undecided != "" {
		t.Fatal(all, err)
	}
	c, _ := manySized(t, "in")
	o := optionsFor(c, fakeOf(f), 2)
	o.Trials = all.Trials - 1
	cut, err := Run(context.Background(), problem, f.candidates(14, true, true), o)
	if !errors.Is(err, ErrLimit) || cut.Undecided != "msccl" || cut.Finished != cut.Cells {
		t.Fatalf("%v, %d of %d sizes, %q undecided: want a limit after the last size, and msccl", err, cut.Finished, cut.Cells, cut.Undecided)
	}
	o.Trials = 0
	rest, err := Run(context.Background(), problem, f.candidates(14, true, true), o)
	if err != nil || rest.Trials != 1 || rest.Undecided != "" {
		t.Errorf("%v, %d more trials, %q undecided: want the one that was left", err, rest.Trials, rest.Undecided)
	}
}

// Where times vary, programs that bounded chooses for an export are measured as often as
// winners.
func TestChosenTimesAreRepeated(t *testing.T) {
	f := field{1}
	c, problem := manySized(t, "in")
	r := rand.New(rand.NewPCG(3, 4))
	e := newFake(func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		us := f.time(t)
		return executor.Measurement{TimesUS: []float64{us * (1 + r.Float64()/10), us * (1 + r.Float64()/10), us * (1 + r.Float64()/10)}}, nil
	})
	e.description.Deterministic = false
	how := optionsFor(c, e, 2)
	how.Strategy = Bounded
	if _, err := Run(context.Background(), problem, f.candidates(14, true, true), how); err != nil {
		t.Fatal(err)
	}
	o := export.Options{To: "msccl-xml", Runtime: "msccl", Out: t.TempDir()}
	report, err := export.Write(c, o)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, trial := range c.Trials() {
		times[fmt.Sprint(trial.Program, trial.Protocol, trial.Bytes)]++
	}
	several := 0
	for _, file := range report.Files {
		var of []int
		for _, n := range manySizes {
			if n >= file.MinBytes && n <= file.MaxBytes && n%file.Granularity == 0 {
				of = append(of, times[fmt.Sprint(file.IR, file.Protocol, n)])
			}
		}
		if len(of) == 0 || slices.Min(of) < minMeasured {
			t.Errorf("%s was measured %v times at its sizes: want %d", file.Name, of, minMeasured)
		}
		several += len(of) - 1
	}
	if several == 0 {
		t.Error("no file serves several sizes")
	}
}
