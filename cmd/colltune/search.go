package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

func searchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search -t TOPOLOGY -c COLLECTIVE",
		Short: "Find the fastest program for each size, and keep the campaign",
		Long: `search enumerates candidate routings for a collective on a system, checks and
compiles them, measures those that could win, and prints the winning table. The
campaign's folder keeps every trial: the same search again continues it, and so
does resume.

  colltune search -t dgx-a100 -c allreduce
  colltune search -t dgx-a100 --nodes 2 -c alltoall -b 64K -e 256M --family two-step
  colltune search -t ring:8@50GB/s -c allgather --executor ./colltune-executor-mine`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := askedFor(cmd)
			if err != nil {
				return err
			}
			effort, err := effortOf(cmd)
			if err != nil {
				return err
			}
			if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
				return dryRun(cmd, a)
			}
			done, err := firstExecutor(&effort, a.options.Executor)
			if err != nil {
				return err
			}
			defer done()
			c, err := results.Create(a.dir, a.plan)
			if err != nil {
				var other *results.OtherPlanError
				if errors.As(err, &other) {
					err = usage(err)
				}
				return err
			}
			defer c.Close()
			return campaign(cmd, a, c, effort, "search")
		},
	}
	topologyFlags(cmd, false)
	collectiveFlag(cmd)
	countsFlag(cmd)
	cmd.Flags().Int("root", 0, "of a collective that has one")
	choiceFlag(cmd, "placement", "", "", []string{"in", "out", "both"}, "in place, out of place or both (in: allreduce, reduce, broadcast)")
	sizeFlags(cmd)
	trialFlags(cmd)
	spaceFlags(cmd)
	effortFlags(cmd)
	cmd.Flags().String("campaign", "", "the campaign's folder `DIR` (campaigns/TOPOLOGY-Nx-COLLECTIVE)")
	cmd.Flags().Bool("dry-run", false, "count the candidates; measure nothing, write nothing")
	outputFlags(cmd)
	return cmd
}

// spaceFlags adds what narrows the candidates.
func spaceFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("family", nil, "only these families `NAME,…`")
	cmd.Flags().StringSlice("exclude", nil, "not these families `NAME,…`")
	for _, name := range []string{"family", "exclude"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeFamily)
	}
	cmd.Flags().StringArray("template", nil, "families of this `FILE.star`, or of all in a folder, beside the built-in ones")
	cmd.Flags().StringArrayP("param", "p", nil, "fix a template parameter: `NAME=VALUE`")
	cmd.Flags().Int("channels", 0, "fix the channels of families that have them (tuned)")
	cmd.Flags().Int("instances", 0, "fix the number of instances (tuned)")
	choiceFlag(cmd, "protocol", "", "", topologies.ProtocolNames(), "fix the wire protocol (tuned)")
	cmd.Flags().Var(&size{}, "tile-bytes", "fix the tile size (tuned)")
	choiceFlag(cmd, "runtime", "", "", runtimeNames(), "only what this runtime would load and run")
	baselineFlag(cmd)
	choiceFlag(cmd, "solver", "", "auto", []string{"auto", "z3", "pb"}, "what fills the holes of templates")
}

// effortFlags adds how far and how a campaign is run.
func effortFlags(cmd *cobra.Command) {
	executorFlags(cmd)
	cmd.Flags().Duration("budget", 0, "stop after this long (none)")
	cmd.Flags().Int("trials", 0, "stop after this many new trials (none)")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "trials and compilations at a time; never changes the answer")
}

// asked is a search as the command line asks for it.
type asked struct {
	problem search.Problem
	options search.Options
	plan    results.Plan
	dir     string
}

// askedFor reads the flags of search.
func askedFor(cmd *cobra.Command) (*asked, error) {
	var a asked
	t, err := topology(cmd)
	if err != nil {
		return nil, err
	}
	if a.options, err = optionsOf(cmd); err != nil {
		return nil, err
	}
	defined, err := a.options.Defined()
	if err != nil {
		return nil, checkError(err)
	}
	name, err := collectiveName(cmd, defined...)
	if err != nil {
		return nil, err
	}
	counts, err := countsOf(cmd, name, len(t.Ranks))
	if err != nil {
		return nil, err
	}
	sizes, err := sizesOf(cmd)
	if err != nil {
		return nil, err
	}
	trial, err := trialOf(cmd)
	if err != nil {
		return nil, err
	}
	root, _ := cmd.Flags().GetInt("root")
	inPlace := collective.DefaultInPlace(name)
	if p := flagValue(cmd, "placement"); p != "" {
		inPlace = p != "out"
	}
	if err := wholeElements(a.options.TileBytes, trial.DType); err != nil {
		return nil, err
	}
	a.problem = search.Problem{Topology: t, Collective: name, Root: root, InPlace: inPlace, Both: flagValue(cmd, "placement") == "both", Counts: counts, Op: trial.Op, DType: trial.DType, Sizes: sizes}
	if err := a.problem.Define(&a.options); err != nil {
		return nil, checkError(err)
	}
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(t.Ranks), Chunks: 1, Root: root, InPlace: inPlace, Counts: counts, Custom: a.problem.Custom})
	if err != nil {
		return nil, usage(err)
	}
	if err := reduces(cmd, c); err != nil {
		return nil, err
	}
	source, err := sourceOf(cmd)
	if err != nil {
		return nil, err
	}
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	found, err := executor.Lookup(flagValue(cmd, "executor"), dirs...)
	if err != nil {
		return nil, err
	}
	a.options.Executor = found.Name
	if err := search.Check(a.problem, a.options); err != nil {
		return nil, checkError(err)
	}
	a.plan = search.PlanOf(a.problem, a.options, source, search.Settings{
		Version: buildVersion().Version, Iters: trial.Iters, Warmup: trial.Warmup, Seed: trial.Seed, ExecutorName: a.options.Executor,
	})
	if a.dir, _ = cmd.Flags().GetString("campaign"); a.dir == "" {
		a.dir = filepath.Join("campaigns", folderName(fmt.Sprintf("%s-%dx-%s", t.Name, t.Nodes, name)))
	}
	return &a, nil
}

// optionsOf reads the flags that narrow the candidates.
func optionsOf(cmd *cobra.Command) (search.Options, error) {
	var o search.Options
	o.Families, _ = cmd.Flags().GetStringSlice("family")
	o.Exclude, _ = cmd.Flags().GetStringSlice("exclude")
	for _, names := range []*[]string{&o.Families, &o.Exclude} { // sets
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	o.Channels, _ = cmd.Flags().GetInt("channels")
	o.Instances, _ = cmd.Flags().GetInt("instances")
	o.TileBytes = sizeOf(cmd, "tile-bytes")
	o.Runtime, o.Solver = flagValue(cmd, "runtime"), flagValue(cmd, "solver")
	if err := solverThere(o.Solver); err != nil {
		return o, err
	}
	for _, name := range []string{"channels", "instances"} {
		if n, _ := cmd.Flags().GetInt(name); n < 0 || n == 0 && given(cmd, name) {
			return o, usagef("--%s %d: want at least 1", name, n)
		}
	}
	if p := flagValue(cmd, "protocol"); p != "" {
		proto, err := topologies.ParseProto(p)
		if err != nil {
			return o, usage(err)
		}
		o.Protocols = []topologies.Proto{proto}
	}
	assignments, _ := cmd.Flags().GetStringArray("param")
	if err := o.Assign(assignments); err != nil {
		return o, usage(err)
	}
	baseline, err := baselineOf(cmd)
	if err != nil {
		return o, err
	}
	o.Baseline = baseline
	paths, _ := cmd.Flags().GetStringArray("template")
	for _, path := range paths {
		files, err := starFiles(path)
		if err != nil {
			return o, err
		}
		for _, f := range files {
			text, err := readFile(cmd.Context(), f, maxTemplate)
			if err != nil {
				return o, err
			}
			o.Templates = append(o.Templates, search.Template{Name: filepath.Base(f), Text: string(text)})
		}
	}
	return o, nil
}

// solverThere refuses a solver that was asked for by name and can't be had,
// before anything is made that would stay behind.
func solverThere(name string) error {
	if name == "" || name == "auto" {
		return nil
	}
	s, err := constraints.Open(constraints.Options{Solver: name})
	if err != nil {
		return err
	}
	s.Close()
	return nil
}

// maxTemplate bounds a template's file.
const maxTemplate = 1 << 20

// starFiles is a file, or the .star files of a folder, by name.
func starFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(plain(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(path), "*.star"))
	if err == nil && len(files) == 0 {
		err = usagef("%s: no .star files in this folder", path)
	}
	return files, err
}

// sourceOf is the topology as it was asked for, text and all.
func sourceOf(cmd *cobra.Command) (search.Source, error) {
	name := flagValue(cmd, "topology")
	s := search.Source{Text: name}
	s.Nodes, _ = cmd.Flags().GetInt("nodes")
	if given(cmd, "gpus") {
		s.GPUs, _ = cmd.Flags().GetIntSlice("gpus")
	}
	if text, ok := topologies.Source(name); ok {
		s.Text = string(text)
	} else if !isGenerator(name) {
		text, err := readFile(cmd.Context(), name, 1<<24) // read once already, and bounded there
		if err != nil {
			return s, err
		}
		s.Text = string(text)
	}
	return s, nil
}

func isGenerator(name string) bool {
	kind, _, ok := strings.Cut(name, ":")
	return ok && slices.Contains(generators, kind+":")
}

// checkError is a search that was asked for in vain.
func checkError(err error) error {
	var none *search.NothingFound
	if errors.As(err, &none) {
		return err
	}
	return usage(err)
}

// folderName makes a file name of a topology's and a collective's.
func folderName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,@", r) {
			return r
		}
		return '_'
	}, s)
}

// wholeElements refuses a tile with no room for an element.
func wholeElements(tile int64, dtype string) error {
	elem, err := collective.ElemBytes(dtype)
	if err != nil {
		return usage(err)
	}
	if tile > 0 && tile < elem {
		return usagef("--tile-bytes %d: want at least the %d bytes of an element (%s)", tile, elem, dtype)
	}
	return nil
}

func given(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	return f != nil && f.Changed
}

// campaign runs a search to its end, a limit or an interrupt, and prints the
// table as far as it has come.
func campaign(cmd *cobra.Command, a *asked, c *results.Campaign, effort search.Effort, schema string) error {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	bar := newProgress(cmd.ErrOrStderr())
	a.options.Jobs = effort.Jobs
	a.options.Stage = bar.stage
	a.options.Notice = func(s string) { bar.pause(); say("%s", s) }
	if verbose(cmd) {
		a.options.Refused = func(r search.Refusal) { bar.pause(); say("refused: %s", r) }
	}
	effort.Progress = bar.event
	goOn := "colltune resume " + results.Quote(c.Dir()) + pluginFlags(cmd)
	if n := c.Torn(); n > 0 {
		say("journal: the last line was torn by a kill (%d bytes) and is dropped", n)
	}
	summary, err := search.Run(cmd.Context(), a.problem, a.options, c, effort)
	bar.done()
	if cmd.Context().Err() != nil {
		err = autotune.ErrInterrupted // whatever it was that the interrupt met
	}
	if summary.Changed != nil {
		say("the executor is not the one of the earlier trials (%s): they are left aside", pairs(summary.Changed.Fingerprint))
	}
	if summary.Known > 0 {
		say("%s known from before", plural(summary.Known, "trial"))
	}
	if summary.Again > 0 {
		say("%s without a result made again", plural(summary.Again, "trial"))
	}
	if summary.Failed > 0 {
		say("%s without a result; see %s", plural(summary.Failed, "trial"), filepath.Join(c.Dir(), "trials.jsonl"))
	}
	if err != nil && !partial(err) {
		// What a template has ended is no campaign to go on with.
		return errors.Join(err, c.Discard())
	}
	if printed := printTable(cmd, c, schema); printed != nil {
		return errors.Join(err, printed)
	}
	if err != nil {
		say("saved; go on with: %s", goOn)
		return err
	}
	say("campaign: %s", c.Dir())
	return nil
}

// partial tells whether a search that ended with err has kept results that are
// worth printing.
func partial(err error) bool {
	return errors.Is(err, autotune.ErrLimit) || errors.Is(err, autotune.ErrInterrupted) || errors.Is(err, executor.ErrLost) || as[*autotune.UnansweredError](err)
}

// pluginFlags are the flags without which a plugin that is on no path is not found
// again.
func pluginFlags(cmd *cobra.Command) string {
	var flags string
	if name := flagValue(cmd, "executor"); strings.ContainsRune(name, filepath.Separator) {
		flags += " --executor " + results.Quote(name)
	}
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	for _, dir := range dirs {
		flags += " --plugin-dir " + results.Quote(dir)
	}
	return flags
}

// effortOf reads the flags of effort.
func effortOf(cmd *cobra.Command) (search.Effort, error) {
	var e search.Effort
	e.Jobs, _ = cmd.Flags().GetInt("jobs")
	e.Trials, _ = cmd.Flags().GetInt("trials")
	e.Budget, _ = cmd.Flags().GetDuration("budget")
	host, err := hostOptions(cmd)
	switch {
	case err != nil:
		return e, err
	case e.Jobs < 1:
		return e, usagef("--jobs %d: want at least 1", e.Jobs)
	case e.Trials < 0 || e.Trials == 0 && given(cmd, "trials"):
		return e, usagef("--trials %d: want at least 1, or none of it for no limit", e.Trials)
	case e.Budget < 0 || e.Budget == 0 && given(cmd, "budget"):
		return e, usagef("--budget %s: want a time above 0, or none of it for no limit", e.Budget)
	}
	e.Timeout = host.TrialTimeout
	name := flagValue(cmd, "executor")
	ctx := cmd.Context()
	e.Executors = func() (executor.Executor, error) { return executor.Start(ctx, name, host) }
	return e, nil
}

// firstExecutor starts the first executor of a search before its campaign's
// folder is made: one that can't be had on this machine leaves none. The search
// takes what came of it; done ends what it did not take.
func firstExecutor(e *search.Effort, name string) (done func(), err error) {
	if name == "sim" {
		return func() {}, nil
	}
	make := e.Executors
	first, failed := make()
	if errors.Is(failed, executor.ErrUnavailable) {
		return nil, failed
	}
	var taken sync.Once
	e.Executors = func() (got executor.Executor, err error) {
		again := true
		taken.Do(func() { got, err, again = first, failed, false })
		if again {
			return make()
		}
		return got, err
	}
	return func() {
		taken.Do(func() {
			if c, ok := first.(io.Closer); ok && failed == nil {
				_ = c.Close()
			}
		})
	}, nil
}

// dryRun counts what a search would look at.
func dryRun(cmd *cobra.Command, a *asked) error {
	a.options.Jobs, _ = cmd.Flags().GetInt("jobs")
	bar := newProgress(cmd.ErrOrStderr())
	a.options.Stage = bar.stage
	a.options.Notice = func(s string) { bar.pause(); fmt.Fprintln(cmd.ErrOrStderr(), s) }
	if verbose(cmd) {
		a.options.Refused = func(r search.Refusal) { bar.pause(); fmt.Fprintf(cmd.ErrOrStderr(), "refused: %s\n", r) }
	}
	if a.options.Executor != "sim" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is not started: algorithms of its own are not counted\n", a.options.Executor)
	}
	space, err := search.Enumerate(cmd.Context(), a.problem, a.options)
	bar.done()
	if err != nil {
		return err
	}
	refused := search.ByReason(space.Refusals)
	s := sheet{columns: []column{text("candidates"), number("number")}}
	s.add("enumerated", strconv.Itoa(space.Enumerated))
	for _, reason := range search.Reasons(refused) {
		s.add("refused: "+reason, strconv.Itoa(refused[reason]))
	}
	tuned := space.Enumerated
	for _, n := range refused {
		tuned -= n
	}
	s.add("to be tuned", strconv.Itoa(tuned))
	if beside := len(space.Candidates) - tuned; beside > 0 {
		s.add("for the baseline alone", strconv.Itoa(beside))
	}
	return emit(cmd, "dry-run", struct {
		Command    string         `json:"command"`
		Campaign   string         `json:"campaign"`
		Sizes      []int64        `json:"sizes"`
		Enumerated int            `json:"enumerated"`
		Refused    map[string]int `json:"refused"`
		Candidates int            `json:"candidates"`
	}{a.plan.Command(), a.dir, a.problem.Sizes, space.Enumerated, refused, len(space.Candidates)}, s)
}
