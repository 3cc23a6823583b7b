package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// searchRequest is the search that a command line asks for.
type searchRequest struct {
	problem search.Problem
	options search.Options
	plan    results.Plan
	dir     string
}

// searchRequestOf reads the flags of search.
func searchRequestOf(cmd *cobra.Command) (*searchRequest, error) {
	var a searchRequest
	trial, err := a.readProblem(cmd)
	if err != nil {
		return nil, err
	}
	source, err := topologySource(cmd)
	if err != nil {
		return nil, err
	}
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	found, err := executor.Lookup(flagValue(cmd, "executor"), dirs...)
	if err != nil {
		return nil, err
	}
	a.options.Executor, a.options.Memory = found.Name, memoryLimit(cmd)
	if err := search.Check(a.problem, a.options); err != nil {
		return nil, checkError(err)
	}
	a.plan = search.PlanOf(a.problem, a.options, source, search.Settings{
		Version: buildVersion().Version, Iters: trial.Iters, Warmup: trial.Warmup, Seed: trial.Seed, ExecutorName: a.options.Executor,
	})
	if a.dir, _ = cmd.Flags().GetString("campaign"); a.dir == "" {
		t := a.problem.Topology
		a.dir = filepath.Join("campaigns", folderName(fmt.Sprintf("%s-%dx-%s", t.Name, t.Nodes, a.problem.Collective)))
	}
	return &a, nil
}

// readProblem reads what is searched for, and the options that narrow the
// candidates, in which a template may define the collective. It returns how trials
// are to be run.
func (a *searchRequest) readProblem(cmd *cobra.Command) (trial executor.Trial, err error) {
	t, err := topology(cmd)
	if err != nil {
		return trial, err
	}
	if a.options, err = optionsOf(cmd); err != nil {
		return trial, err
	}
	defined, err := a.options.Defined()
	if err != nil {
		return trial, checkError(err)
	}
	name, err := collectiveName(cmd, defined...)
	if err != nil {
		return trial, err
	}
	counts, err := countsOf(cmd, name, len(t.Ranks))
	if err != nil {
		return trial, err
	}
	sizes, err := sizesOf(cmd)
	if err != nil {
		return trial, err
	}
	if trial, err = trialOf(cmd); err != nil {
		return trial, err
	}
	if err := checkTileBytes(a.options.TileBytes, trial.DType); err != nil {
		return trial, err
	}
	root, _ := cmd.Flags().GetInt("root")
	placement := flagValue(cmd, "placement")
	inPlace := collective.DefaultInPlace(name)
	if placement != "" {
		inPlace = placement != "out"
	}
	call := collective.Call{Collective: name, Root: root, Counts: counts, Op: trial.Op, DType: trial.DType}
	a.problem = search.Problem{Topology: t, Call: call, InPlace: inPlace, Both: placement == "both", Sizes: sizes}
	if a.problem, err = a.problem.Defined(&a.options); err != nil {
		return trial, checkError(err)
	}
	c, err := a.problem.Over(len(t.Ranks), inPlace)
	if err != nil {
		return trial, usage(err)
	}
	if err := checkOp(cmd, c); err != nil {
		return trial, err
	}
	return trial, checkRuntime(a.options.Runtime, c, trial)
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
	if err := checkSolver(o.Solver); err != nil {
		return o, err
	}
	for _, name := range []string{"channels", "instances"} {
		if n, _ := cmd.Flags().GetInt(name); n < 0 || n == 0 && isSet(cmd, name) {
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
		files, err := templates.Files(path)
		if err != nil {
			return o, usage(err)
		}
		for _, f := range files {
			text, err := readFile(cmd.Context(), f, script.MaxSource)
			if err != nil {
				return o, err
			}
			o.Templates = append(o.Templates, search.Template{Name: filepath.Base(f), Text: string(text)})
		}
	}
	return o, nil
}

// checkSolver refuses a solver that was asked for by name and is not here, before
// anything is made that would be left behind.
func checkSolver(name string) error {
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

// topologySource is the topology that was asked for, with its text.
func topologySource(cmd *cobra.Command) (search.Source, error) {
	name := flagValue(cmd, "topology")
	s := search.Source{Text: name}
	s.Nodes, _ = cmd.Flags().GetInt("nodes")
	if isSet(cmd, "gpus") {
		s.GPUs, _ = cmd.Flags().GetIntSlice("gpus")
	}
	if text, ok := topologies.Source(name); ok {
		s.Text = string(text)
	} else if !isGenerator(name) {
		text, err := readFile(cmd.Context(), name, maxImport) // it has been read before, where the limit is lower
		if err != nil {
			return s, err
		}
		s.Text = string(text)
	}
	return s, nil
}

// checkError gives the exit code for a search that makes no sense.
func checkError(err error) error {
	var none *search.NothingFound
	if errors.As(err, &none) {
		return err
	}
	return usage(err)
}

// folderName makes the names of a topology and a collective fit for a file's name.
func folderName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,@", r) {
			return r
		}
		return '_'
	}, s)
}

// checkRuntime refuses a runtime in which no program computes what is asked for.
func checkRuntime(name string, c collective.Collective, trial executor.Trial) error {
	if name == "" {
		return nil
	}
	runtime, err := export.RuntimeNamed(name)
	if err != nil {
		return usage(err)
	}
	op := trial.Op
	if !c.Reduces() {
		op = "sum" // the collective reduces nothing
	}
	if why := runtime.Computes(op, trial.DType); why != "" {
		return usagef("--runtime %s: %s: ask for something else, or for no --runtime", name, why)
	}
	return nil
}
