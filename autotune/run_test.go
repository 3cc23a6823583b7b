package autotune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

// What is said of a limit that was asked for has its value as one writes it.
func TestLimitsSpent(t *testing.T) {
	for want, e := range map[string]LimitError{
		"the budget of 3m is spent":        {"budget", (3 * time.Minute).String()},
		"the budget of 2h is spent":        {"budget", (2 * time.Hour).String()},
		"the budget of 1h10m is spent":     {"budget", (70 * time.Minute).String()},
		"the budget of 1m30s is spent":     {"budget", (90 * time.Second).String()},
		"the budget of 20s is spent":       {"budget", (20 * time.Second).String()},
		"the trial asked for is made":      {"trials", "1"},
		"the 20 trials asked for are made": {"trials", "20"},
	} {
		if got := e.Spent(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A pruned trial would have won nothing, neither in the table nor in an export to any
// runtime.
func TestPrunedIsExhaustive(t *testing.T) {
	saved, exported := 0, 0
	for seed := range int64(10) {
		f := field{seed}
		n := 2 + 2*int(seed)
		whole, pruned := newCampaign(t, "in"), newCampaign(t, "in")
		_, all := tuned(t, whole, f.candidates(n, true, false), optionsFor(whole, fakeOf(f), 2))
		_, some := tuned(t, pruned, f.candidates(n, true, true), optionsFor(pruned, fakeOf(f), 2))
		if a, b := tableOf(t, whole, true), tableOf(t, pruned, true); a != b {
			t.Fatalf("seed %d: exhaustive gives\n%s\npruned gives\n%s", seed, a, b)
		}
		a, b := exportsOf(t, whole), exportsOf(t, pruned)
		if a != b {
			t.Fatalf("seed %d: exhaustive exports\n%s\npruned exports\n%s", seed, a, b)
		}
		if all.BoundedOut != 0 || some.Tuned+some.BoundedOut != n {
			t.Fatalf("seed %d: %d candidates: %+v exhaustive, %+v pruned", seed, n, all, some)
		}
		saved += all.Trials - some.Trials
		exported += strings.Count(a, "Percent")
		whole.Close()
		pruned.Close()
	}
	if saved == 0 || exported == 0 {
		t.Errorf("%d trials were ever pruned, %d exports differ from the winner: want some of both", saved, exported)
	}
}

// The trials, and so the table and its counts, are the same with any number of jobs.
// Where times vary, trials run one at a time, since concurrent ones would slow each
// other down.
func TestTrialsOfRealDevicesRunAlone(t *testing.T) {
	for _, deterministic := range []bool{true, false} {
		var running, most atomic.Int64
		second := make(chan struct{}) // at the side of a first
		once := sync.OnceFunc(func() { close(second) })
		e := newFake(func(context.Context, executor.Trial) (executor.Measurement, error) {
			n := running.Add(1)
			if n > most.Load() {
				most.Store(n)
			}
			if n > 1 {
				once()
			}
			if deterministic {
				select {
				case <-second:
				case <-time.After(time.Minute): // they run alone
					once()
				}
			} else {
				time.Sleep(2 * time.Millisecond)
			}
			running.Add(-1)
			return executor.Measurement{TimesUS: []float64{100, 101}}, nil
		})
		e.description.Deterministic = deterministic
		c := newCampaign(t, "in")
		tuned(t, c, field{3}.candidates(6, true, false), optionsFor(c, e, 4))
		if n := most.Load(); deterministic != (n > 1) {
			t.Errorf("deterministic %v: %d trials at a time", deterministic, n)
		}
	}
}

func TestJobsChangeNothing(t *testing.T) {
	f := field{5}
	var want string
	for _, jobs := range []int{1, 2, 7, 40} {
		c := newCampaign(t, "in")
		e := fakeOf(f)
		got, summary := tuned(t, c, f.candidates(20, true, true), optionsFor(c, e, jobs))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d jobs give another table:\n%s\nnot\n%s", jobs, got, want)
		}
		if e.total() != summary.Trials {
			t.Errorf("%d jobs: %d calls for %d trials", jobs, e.total(), summary.Trials)
		}
	}
}

// A campaign whose journal is cut at any byte resumes to the same table, and repeats no
// trial that the journal still has.
func TestKilledAndResumed(t *testing.T) {
	f := field{11}
	candidates := f.candidates(12, true, true)
	c := newCampaign(t, "in")
	want, whole := tuned(t, c, candidates, optionsFor(c, fakeOf(f), 3))
	c.Close()
	path := filepath.Join(c.Dir(), "trials.jsonl")
	journal, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 12 {
		cut := r.IntN(len(journal))
		if err := os.WriteFile(path, journal[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		kept := bytes.Count(journal[:cut], []byte(`"trial":`)) - bytes.Count(journal[bytes.LastIndexByte(journal[:cut], '\n')+1:cut], []byte(`"trial":`))
		c, err := results.Open(c.Dir())
		if err != nil {
			t.Fatal(err)
		}
		e := fakeOf(f)
		got, summary := tuned(t, c, candidates, optionsFor(c, e, 3))
		if got != want {
			t.Fatalf("cut at %d: the table is\n%s\nnot\n%s", cut, got, want)
		}
		if summary.Known != kept || e.total() != whole.Trials-kept {
			t.Errorf("cut at %d of %d: %d trials kept, %d known, %d made again, %d in all", cut, len(journal), kept, summary.Known, e.total(), whole.Trials)
		}
		c.Close()
	}
	// A finished one makes none.
	c, err = results.Open(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := fakeOf(f)
	if got, _ := tuned(t, c, candidates, optionsFor(c, e, 3)); got != want || e.total() != 0 {
		t.Errorf("a finished campaign makes %d trials", e.total())
	}
}

// A campaign that is stopped after n trials again and again reaches the same end,
// whatever the number of jobs.
func TestTrialsLimit(t *testing.T) {
	f := field{3}
	candidates := f.candidates(10, true, true)
	whole := newCampaign(t, "in")
	want, all := tuned(t, whole, candidates, optionsFor(whole, fakeOf(f), 2))

	c := newCampaign(t, "in")
	made := 0
	for i := 0; ; i++ {
		o := optionsFor(c, fakeOf(f), 1+i%3)
		o.Trials = 7
		summary, err := Run(context.Background(), testProblem(), candidates, o)
		made += summary.Trials
		if err == nil {
			break
		}
		var limit *LimitError
		if !errors.As(err, &limit) || !errors.Is(err, ErrLimit) || limit.Limit != "trials" {
			t.Fatal(err)
		}
		if summary.Trials != 7 {
			t.Fatalf("%d trials made, want 7", summary.Trials)
		}
	}
	if made != all.Trials {
		t.Errorf("%d trials in pieces, %d in one go", made, all.Trials)
	}
	if got, _ := tuned(t, c, candidates, optionsFor(c, fakeOf(f), 2)); got != want {
		t.Errorf("in pieces\n%s\nin one go\n%s", got, want)
	}
}

func TestBudgetAndInterrupt(t *testing.T) {
	f := field{4}
	candidates := f.candidates(10, true, true)
	t.Run("budget", func(t *testing.T) {
		c := newCampaign(t, "in")
		o := optionsFor(c, fakeOf(f), 2)
		o.Budget = time.Nanosecond
		_, err := Run(context.Background(), testProblem(), candidates, o)
		var limit *LimitError
		if !errors.As(err, &limit) || limit.Limit != "budget" {
			t.Fatalf("%v, want the budget to be spent", err)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		c := newCampaign(t, "in")
		ctx, cancel := context.WithCancel(context.Background())
		var calls atomic.Int32
		e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
			if calls.Add(1) == 20 {
				cancel()
				<-ctx.Done()
				return executor.Measurement{}, ctx.Err()
			}
			return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
		})
		summary, err := Run(ctx, testProblem(), candidates, optionsFor(c, e, 2))
		if !errors.Is(err, ErrInterrupted) {
			t.Fatalf("%v, want ErrInterrupted", err)
		}
		trials := c.Trials()
		if len(trials) < 19 || len(trials) != summary.Trials {
			t.Errorf("%d trials in the journal, %d in the summary, want all that were made", len(trials), summary.Trials)
		}
		for _, trial := range trials {
			if trial.Outcome != results.OK {
				t.Errorf("the interrupt is in the journal as %s: %s", trial.Outcome, trial.Note)
			}
		}
		if summary.Untried == 0 {
			t.Error("candidates that were never looked at are counted as something else")
		}
	})
}

// Whatever an executor does in some trials, the rest of the campaign has the winners
// that it would have without them.
func TestFaultsAreOutcomes(t *testing.T) {
	f := field{8}
	candidates := f.candidates(12, true, true)
	bad := map[string]bool{} // every third program
	var good []Candidate
	for i, c := range candidates {
		if i%3 == 0 {
			bad[c.Hash] = true
		} else {
			good = append(good, c)
		}
	}
	clean := newCampaign(t, "in")
	tuned(t, clean, good, optionsFor(clean, fakeOf(f), 2))
	want := tableOf(t, clean, true)
	for _, c := range []struct {
		name  string
		fault func() (executor.Measurement, error)
		want  results.Outcome
	}{
		{"wrong", func() (executor.Measurement, error) {
			return executor.Measurement{TimesUS: []float64{0.001}, Wrong: 3, Checked: true}, nil
		}, results.Wrong},
		{"refused", func() (executor.Measurement, error) {
			return executor.Measurement{}, fmt.Errorf("no: %w", executor.ErrUnsupported)
		}, results.Failed},
		{"crash", func() (executor.Measurement, error) {
			return executor.Measurement{}, fmt.Errorf("trial: %w", &executor.CrashError{Executor: "fake", Exit: "signal: killed"})
		}, results.Crashed},
		{"timeout", func() (executor.Measurement, error) {
			return executor.Measurement{}, &executor.TimeoutError{After: time.Second, Why: "stood still"}
		}, results.TimedOut},
		{"negative time", func() (executor.Measurement, error) {
			return executor.Measurement{TimesUS: []float64{-1}}, nil
		}, results.Failed},
		{"no time", func() (executor.Measurement, error) { return executor.Measurement{}, nil }, results.Failed},
		{"not UTF-8", func() (executor.Measurement, error) {
			return executor.Measurement{}, errors.New(strings.Repeat("\xff\x00", 9000))
		}, results.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := newCampaign(t, "in")
			e := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
				if bad[trial.Program.Hash()] {
					return c.fault()
				}
				return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
			})
			o := optionsFor(store, e, 4)
			_, summary := tuned(t, store, candidates, o)
			if got := tableOf(t, store, true); got != want {
				t.Errorf("with faults\n%s\nwithout\n%s", got, want)
			}
			found := map[results.Outcome]int{}
			failed := 0
			for _, trial := range store.Trials() {
				found[trial.Outcome]++
				if trial.Outcome != results.OK {
					failed++
				}
				if len(trial.Note) > maxNoteBytes+8 {
					t.Errorf("a note of %d bytes", len(trial.Note))
				}
			}
			if found[c.want] == 0 || failed != summary.Failed || failed == 0 {
				t.Errorf("outcomes %v, %d failed in the summary, want some %s", found, summary.Failed, c.want)
			}
			if c.want == results.Crashed && found[results.Quarantined] == 0 {
				t.Errorf("outcomes %v: a program that kills executors is not kept from them", found)
			}
			back, err := results.OpenReadOnly(store.Dir())
			if err != nil {
				t.Fatalf("the journal cannot be read back: %v", err)
			}
			if len(back.Trials()) != len(store.Trials()) {
				t.Error("trials were lost")
			}
		})
	}
}

// A lost executor ends the run with the results so far; the next run continues.
func TestLostExecutor(t *testing.T) {
	f := field{2}
	candidates := f.candidates(8, true, true)
	whole := newCampaign(t, "in")
	want, all := tuned(t, whole, candidates, optionsFor(whole, fakeOf(f), 2))

	c := newCampaign(t, "in")
	var calls atomic.Int32
	dying := newFake(func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
		if calls.Add(1) > 10 {
			return executor.Measurement{}, &executor.LostError{Executor: "fake", Starts: 3, Last: errors.New("gone")}
		}
		return executor.Measurement{TimesUS: []float64{f.time(trial)}}, nil
	})
	summary, err := Run(context.Background(), testProblem(), candidates, optionsFor(c, dying, 2))
	if !errors.Is(err, executor.ErrLost) {
		t.Fatalf("%v, want ErrLost", err)
	}
	if summary.Trials != 10 || len(c.Trials()) != 10 {
		t.Errorf("%d trials, %d in the journal, want 10", summary.Trials, len(c.Trials()))
	}
	e := fakeOf(f)
	if got, _ := tuned(t, c, candidates, optionsFor(c, e, 2)); got != want || e.total() != all.Trials-10 {
		t.Errorf("after the loss %d trials were made, want %d", e.total(), all.Trials-10)
	}
	_, err = Run(context.Background(), testProblem(), candidates, Options{Campaign: newCampaign(t, "in"), Executors: executor.NewPool(func() (executor.Executor, error) {
		return nil, &executor.LostError{Executor: "fake", Starts: 3, Last: errors.New("dies at start")}
	})})
	if !errors.Is(err, executor.ErrLost) {
		t.Errorf("%v, want ErrLost", err)
	}
}

// The library's choice is measured first, whatever its bound, with the tile of its
// runtime.
func TestBaselineIsAlwaysMeasured(t *testing.T) {
	f := field{9}
	for _, reference := range []bool{false, true} {
		candidates := f.candidates(8, true, true)
		b := &candidates[5] // 24 instances: slow at small sizes, fast at large ones
		b.Reference = reference
		for _, n := range testSizes {
			b.Baseline = append(b.Baseline, Point{Bytes: n, Protocol: topologies.Simple})
		}
		c := newCampaign(t, "in")
		var first []string
		o := optionsFor(c, fakeOf(f), 1)
		var before EventKind
		o.Progress = func(e Event) {
			if e.Kind == TrialDone && before == CellStarted {
				first = append(first, fmt.Sprintf("%s %d", e.Protocol, e.TileBytes))
			}
			before = e.Kind
		}
		tuned(t, c, candidates, o)
		want := fmt.Sprint([]string{"Simple 2097152", "Simple 2097152", "Simple 2097152", "Simple 2097152"})
		if fmt.Sprint(first) != want {
			t.Errorf("first trials %v, want %v", first, want)
		}
		at := map[int64]bool{}
		others := 0
		for _, trial := range c.Trials() {
			if trial.Program == b.Hash {
				at[trial.Bytes] = at[trial.Bytes] || trial.Protocol == "Simple" && trial.TileBytes == 2<<20
				if trial.Protocol != "Simple" {
					others++
				}
				if trial.Reference != reference {
					t.Errorf("a trial of the baseline has reference %v, want %v", trial.Reference, reference)
				}
			}
		}
		for _, n := range testSizes {
			if !at[n] {
				t.Errorf("the baseline was not measured at %d", n)
			}
		}
		winners, err := table.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		wins := 0
		for _, r := range winners.Rows {
			if r.IR == b.Hash {
				wins++
			}
		}
		if reference && (wins > 0 || others > 0) {
			t.Errorf("a reference wins %d sizes and is tried with %d other knobs", wins, others)
		}
	}
}

// Two candidates with one program are one, slots rule protocols out, and the two
// placements are tuned separately.
func TestCandidatesAreSettled(t *testing.T) {
	f := field{1}
	candidates := f.candidates(3, true, true)
	candidates = append(candidates, candidates[0], f.candidates(1, false, true)[0])
	candidates[1].SlotsNeeded = 3 // LL and LL128 only
	candidates[2].SlotsNeeded = 9 // nothing
	c := newCampaign(t, "both")
	e := fakeOf(f)
	_, summary := tuned(t, c, candidates, optionsFor(c, e, 2))
	if summary.Duplicates != 1 || summary.Refused[refusedSlots] != 1 || summary.Tuned+summary.BoundedOut != 3 {
		t.Errorf("%+v, want 1 duplicate, 1 refused for its slots, 3 others", summary)
	}
	placements := map[string]int{}
	for _, trial := range c.Trials() {
		placements[trial.Placement]++
		if trial.Program == candidates[1].Hash && trial.Protocol == "Simple" {
			t.Error("a program that needs 3 slots was given 2")
		}
	}
	if placements["in"] == 0 || placements["out"] == 0 {
		t.Errorf("trials by placement %v, want both", placements)
	}
}

// An executor that cannot run the problem is refused before any trial.
func TestUnsupportedProblem(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*executor.Description)
		want   string
	}{
		{"dtype", func(d *executor.Description) { d.DTypes = []string{"f64"} }, "dtype f32"},
		{"op", func(d *executor.Description) { d.Operations = []string{"max"} }, "operation sum"},
		{"ranks", func(d *executor.Description) { d.MaxRanks = 3 }, "4 ranks"},
	} {
		e := fakeOf(field{})
		c.change(&e.description)
		_, err := Run(context.Background(), testProblem(), field{}.candidates(1, true, true), optionsFor(newCampaign(t, "in"), e, 1))
		if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want that it is not supported", c.name, err)
		}
	}
	e := fakeOf(field{})
	e.description.Protocols, e.description.MaxRanks = []string{"LL"}, 4 // as many as there are
	c := newCampaign(t, "in")
	tuned(t, c, field{}.candidates(3, true, true), optionsFor(c, e, 1))
	for _, trial := range c.Trials() {
		if trial.Protocol != "LL" {
			t.Errorf("a trial with %s on an executor that has LL alone", trial.Protocol)
		}
	}
}

// A changed fingerprint is reported, and no trial of the old one is reused.
func TestChangedFingerprint(t *testing.T) {
	f := field{6}
	c := newCampaign(t, "in")
	_, first := tuned(t, c, f.candidates(4, true, true), optionsFor(c, fakeOf(f), 2))
	e := fakeOf(f)
	e.description.Fingerprint = map[string]string{"model": "2"}
	_, second := tuned(t, c, f.candidates(4, true, true), optionsFor(c, e, 2))
	if second.Changed == nil || second.Changed.Fingerprint["model"] != "1" || second.Known != 0 || second.Trials != first.Trials {
		t.Errorf("%+v after %+v", second, first)
	}
	if n := len(c.Trials()); n != second.Trials {
		t.Errorf("%d trials in the table, want the %d of the new fingerprint", n, second.Trials)
	}
}

// On an executor whose times vary, bounded measures contenders again, the same ones on a
// resumed run, and the table has the spread.
func TestVaryingTimes(t *testing.T) {
	f := field{13}
	noisy := func() *fake {
		e := newFake(nil)
		e.description.Deterministic = false
		e.run = func(_ context.Context, trial executor.Trial) (executor.Measurement, error) {
			// Noise that depends on the trial and on which repetition it is, so
			// that a resumed run meets what a whole one would have.
			e.mu.Lock()
			n := e.calls[fmt.Sprintf("%s %d %s %d", trial.Program.Hash(), trial.Bytes, trial.Protocol, trial.TileBytes)]
			e.mu.Unlock()
			r := rand.New(rand.NewPCG(uint64(trial.Bytes+trial.TileBytes), uint64(n)))
			times := make([]float64, 10)
			for i := range times {
				times[i] = f.time(trial) * (1 + r.ExpFloat64()/4)
			}
			return executor.Measurement{TimesUS: times, Checked: true}, nil
		}
		return e
	}
	candidates := f.candidates(10, true, true)
	c := newCampaign(t, "in")
	bounded := func(c *results.Campaign, jobs int) Options {
		o := optionsFor(c, noisy(), jobs)
		o.Strategy = Bounded
		return o
	}
	want, whole := tuned(t, c, candidates, bounded(c, 1))
	repeated := 0
	for _, trial := range c.Trials() {
		if trial.Repeat > 0 {
			repeated++
		}
		if trial.Repeat >= maxMeasured {
			t.Errorf("repetition %d", trial.Repeat)
		}
	}
	if repeated == 0 || repeated == whole.Trials {
		t.Errorf("%d of %d trials are repetitions", repeated, whole.Trials)
	}
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range winners.Rows {
		if !(r.TimeCIUS[0] < r.TimeUS && r.TimeUS < r.TimeCIUS[1]) {
			t.Errorf("%d bytes: %v in %v", r.Bytes, r.TimeUS, r.TimeCIUS)
		}
	}
	again := newCampaign(t, "in")
	if got, _ := tuned(t, again, candidates, bounded(again, 4)); got != want {
		t.Errorf("4 jobs give\n%s\n1 gives\n%s", got, want)
	}
}

// A journal that another process truncates ends the search with one line that says so.
func TestJournalCutMeanwhile(t *testing.T) {
	f := field{3}
	c := newCampaign(t, "in")
	path := filepath.Join(c.Dir(), "trials.jsonl")
	e := newFake(func(_ context.Context, x executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{f.time(x)}}, os.Truncate(path, 10)
	})
	_, err := Run(t.Context(), testProblem(), f.candidates(8, true, false), optionsFor(c, e, 1))
	if err == nil || strings.Count(err.Error(), "something else changed it while the search wrote it") != 1 || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one line that says that the journal was changed", err)
	}
}

// setting is a candidate that takes us microseconds with LL, no time where us is below 0, and counts in asked how often it
// is asked for it.
func setting(name string, us float64, asked *int) Candidate {
	spec := collective.Spec{Name: "allreduce", Ranks: testRanks, Chunks: 1, InPlace: true}
	return Candidate{
		Algorithm: "ring", Source: results.SourceNative, Parameters: map[string]any{"channels": name}, Channels: 4, Instances: 1,
		Hash: results.NativeHash("ring", map[string]string{"channels": name}, spec), Collective: spec,
		Bound: func(int64, topologies.Proto, int64) float64 { return us / 2 },
		Setting: &Setting{
			At: func(bytes int64, p topologies.Proto) (Set, bool) {
				return Set{4, results.EvidenceFitted}, p == topologies.LL && bytes > testSizes[0]
			},
			US: func(context.Context, int64, topologies.Proto) (float64, error) {
				*asked++
				if us < 0 {
					return 0, errors.New("it has no time")
				}
				return us, nil
			},
		},
	}
}

// A setting's times are computed, and journaled as trials that no executor makes; one that wins does not keep the fastest
// program from being found. The journal has them for the next run.
func TestSettingsAreTrials(t *testing.T) {
	f := field{3}
	programs := f.candidates(6, true, true)
	alone := newCampaign(t, "in")
	tuned(t, alone, programs, optionsFor(alone, fakeOf(f), 2))

	c, e, asked, failed := newCampaign(t, "in"), fakeOf(f), 0, 0
	candidates := append(slices.Clone(programs), setting("fast", 1, &asked), setting("slow", 1e9, &asked), setting("none", -1, &failed))
	_, first := tuned(t, c, candidates, optionsFor(c, e, 1))
	calls := e.total()
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range winners.Rows {
		won := r.Source == results.SourceNative
		if won != (r.Bytes > testSizes[0]) || won && (r.TimeUS != 1 || *r.Threadblocks != 4 || r.SettingEvidence != results.EvidenceFitted) {
			t.Errorf("%d bytes: %s of source %s in %v us, evidence %q", r.Bytes, r.Algorithm, r.Source, r.TimeUS, r.SettingEvidence)
		}
	}
	fastest := func(c *results.Campaign) (times []float64) {
		t.Helper()
		built, err := table.Programs(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range built.Rows {
			times = append(times, r.TimeUS)
		}
		return times
	}
	if a, b := fastest(alone), fastest(c); !slices.Equal(a, b) {
		t.Errorf("the fastest programs take %v us, and beside settings %v", a, b)
	}
	for _, x := range c.Trials() {
		if x.IsSetting() && (x.Outcome == results.OK) != (x.Parameters["channels"] != "none") || x.IsSetting() && x.Outcome == results.OK && x.Data != results.NoData {
			t.Errorf("trial of %v: %s, data %s", x.Parameters, x.Outcome, x.Data)
		}
	}
	if n := len(testSizes) - 1; asked != n || failed == 0 || first.Failed != failed {
		t.Errorf("asked for %d times, want %d of the fast one alone; %d without one, %d failed", asked, n, failed, first.Failed)
	}
	before := failed
	if _, again := tuned(t, c, candidates, optionsFor(c, e, 2)); asked != len(testSizes)-1 || e.total() != calls || again.Trials != failed-before {
		t.Errorf("the next run made %d trials, asked for %d times, and ran %d programs more", again.Trials, asked, e.total()-calls)
	}
}
