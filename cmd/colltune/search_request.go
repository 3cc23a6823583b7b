package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// searchRequest is the search that the flags describe, or a campaign's plan.
type searchRequest struct {
	problem search.Problem
	options search.Options
	plan    results.Plan
	dir     string // the campaign's folder
}

// searchRequestsOf reads the flags of search: a request, or one for each number of nodes of a
// map (search_map.go).
func searchRequestsOf(cmd *cobra.Command) (all []*searchRequest, err error) {
	counts, _ := cmd.Flags().GetIntSlice("nodes")
	slices.Sort(counts)
	counts = slices.Compact(counts)
	if len(counts) == 0 {
		counts = []int{0}
	}
	dir, _ := cmd.Flags().GetString("campaign")
	for _, nodes := range counts {
		r, err := searchRequestOf(cmd, nodes, len(counts) > 1)
		if err != nil {
			return nil, ofNodes(len(counts) > 1, nodes, err)
		}
		kind := fmt.Sprintf("%dx", r.problem.Topology.Nodes)
		if len(counts) > 1 {
			kind = "map"
		}
		if r.dir = dir; dir == "" {
			r.dir = filepath.Join("campaigns", folderName(fmt.Sprintf("%s-%s-%s", r.problem.Topology.Name, kind, r.problem.Collective)))
		}
		if len(counts) > 1 {
			r.dir = results.MapMember(r.dir, nodes)
		}
		all = append(all, r)
	}
	return all, nil
}

// ofNodes names the number of nodes in an error of a map's search.
func ofNodes(several bool, nodes int, err error) error {
	if !several {
		return err
	}
	return fmt.Errorf("%s: %w", units.Count(nodes, "node"), err)
}

// searchRequestOf reads the flags of search on a number of nodes, 0 for the topology's own.
// several reports whether it is one of a map's: then sizes too small for its ranks are left
// out, with a notice.
func searchRequestOf(cmd *cobra.Command, nodes int, several bool) (*searchRequest, error) {
	var r searchRequest
	trial, err := r.readProblem(cmd, nodes)
	if err != nil {
		return nil, err
	}
	if several {
		if err := r.leaveOutSmall(cmd); err != nil {
			return nil, err
		}
	}
	source, err := topologySource(cmd, nodes)
	if err != nil {
		return nil, err
	}
	found, err := executor.Lookup(flagValue(cmd, "executor"), pluginDirs(cmd)...)
	if err != nil {
		return nil, err
	}
	r.options.Executor, r.options.Memory = found.Name, memoryLimit(cmd)
	if executor.IsModel(found.Name) || r.options.Baseline != nil { // else the executor may name it
		release, note := r.options.LibraryRelease(r.problem.Topology)
		if r.options.Release = release; note != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), note)
		}
	}
	if err := search.Check(r.problem, r.options); err != nil {
		return nil, usage(err)
	}
	if r.options.Earlier, err = earlierOf(cmd, &r.problem); err != nil {
		return nil, err
	}
	r.plan = search.PlanOf(r.problem, r.options, source, search.Settings{
		Version: buildVersion().Version, Iters: trial.Iters, Warmup: trial.Warmup, Seed: trial.Seed, ExecutorName: r.options.Executor,
	})
	return &r, nil
}

// leaveOutSmall leaves out sizes with less than an element for each chunk of the collective,
// unless all are such.
func (r *searchRequest) leaveOutSmall(cmd *cobra.Command) error {
	least, err := r.problem.LeastBytes()
	if err != nil {
		return usage(err)
	}
	if i, _ := slices.BinarySearch(r.problem.Sizes, least); i > 0 && i < len(r.problem.Sizes) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: sizes below %s are left out: %s has less than an element for each rank there\n",
			units.Count(r.problem.Topology.Nodes, "node"), units.Bytes(least), r.problem.Collective)
		r.problem.Sizes = r.problem.Sizes[i:]
	}
	return nil
}

// earlierOf reads the campaigns that --learn-from names.
func earlierOf(cmd *cobra.Command, p *search.Problem) (all []search.Earlier, err error) {
	dirs, _ := cmd.Flags().GetStringArray("learn-from")
	for _, dir := range dirs {
		c, err := openCampaign(cmd, results.OpenReadOnly, dir)
		if err != nil {
			return nil, err
		}
		e, err := search.EarlierOf(c, filepath.Base(filepath.Clean(dir)), p)
		c.Close()
		if err != nil {
			return nil, usage(fmt.Errorf("--learn-from: %w", err))
		}
		all = append(all, e)
	}
	return all, nil
}

// readProblem reads the problem and the options. It reads the options first, because a
// template among them may define the collective. It returns a trial without program
// and size.
func (r *searchRequest) readProblem(cmd *cobra.Command, nodes int) (trial executor.Trial, err error) {
	t, err := topologyOn(cmd, nodes)
	if err != nil {
		return trial, err
	}
	if r.options, err = optionsOf(cmd, t); err != nil {
		return trial, err
	}
	defined, err := r.options.Defined()
	if err != nil {
		return trial, usage(err)
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
	if err := checkTileBytes(r.options.TileBytes, trial.DType); err != nil {
		return trial, err
	}
	root, _ := cmd.Flags().GetInt("root")
	inPlace := inPlaceOf(cmd, name)
	call := collective.Call{Collective: name, Root: root, Counts: counts, Op: trial.Op, DType: trial.DType}
	r.problem = search.Problem{Topology: t, Call: call, InPlace: inPlace, Both: flagValue(cmd, "placement") == "both", Sizes: sizes}
	if r.problem, err = r.problem.Defined(&r.options); err != nil {
		return trial, usage(err)
	}
	c, err := r.problem.Over(len(t.Ranks), inPlace)
	if err != nil {
		return trial, usage(err)
	}
	if err := checkOp(cmd, c); err != nil {
		return trial, err
	}
	return trial, checkRuntime(r.options.Runtime, c, trial)
}

// optionsOf reads the flags that narrow the candidates.
func optionsOf(cmd *cobra.Command, t *topologies.Topology) (search.Options, error) {
	var o search.Options
	o.Families, _ = cmd.Flags().GetStringSlice("family")
	o.Exclude, _ = cmd.Flags().GetStringSlice("exclude")
	routings, _ := cmd.Flags().GetStringArray("routing")
	for _, r := range routings {
		o.Routings = append(o.Routings, search.NormalRouting(r))
	}
	for _, names := range []*[]string{&o.Families, &o.Exclude, &o.Routings} { // the order of names means nothing
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	o.Channels, _ = cmd.Flags().GetInt("channels")
	o.Instances, _ = cmd.Flags().GetInt("instances")
	o.TileBytes = sizeOf(cmd, "tile-bytes")
	var err error
	if o.MaxSMs, err = maxSMsOf(cmd); err != nil {
		return o, err
	}
	o.Runtime, o.Solver, o.Strategy = flagValue(cmd, "runtime"), flagValue(cmd, "solver"), flagValue(cmd, "strategy")
	if err := checkSolver(o.Solver); err != nil {
		return o, err
	}
	if gain := cmd.Flags().Lookup("gain").Value.(*percent).share; gain != autotune.DefaultGain {
		o.Gain = gain
		if gain == 0 || gain >= 1 {
			return o, usagef("--gain %g%%: want more than 0 and less than 100%%", 100*gain)
		}
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
	if o.Release, err = baselineRelease(cmd, t); err != nil {
		return o, err
	}
	if o.Registered, err = search.ParseRegistered(flagValue(cmd, "registered")); err != nil {
		return o, usage(err)
	}
	named, _ := cmd.Flags().GetStringArray("library")
	for _, text := range named {
		rows, err := readLibrary(cmd, text)
		if err != nil {
			return o, err
		}
		t, warnings := libraries.Build(rows, libraries.DefaultEqual)
		tellSome(cmd.ErrOrStderr(), warnings)
		o.Libraries = append(o.Libraries, search.GivenLibrary{Name: measured.WithoutFolder(text), Table: t})
	}
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

// checkSolver refuses a solver that is not available, before a folder is made that
// would be left behind.
func checkSolver(name string) error {
	if name == "" || name == "auto" {
		return nil
	}
	s, err := solver.Open(solver.Options{Solver: name})
	if err != nil {
		return err
	}
	s.Close()
	return nil
}

// topologySource returns the topology of the flags as text, for the campaign's plan.
func topologySource(cmd *cobra.Command, nodes int) (search.Source, error) {
	name := flagValue(cmd, "topology")
	s := search.Source{Text: name, Nodes: nodes}
	if isSet(cmd, "gpus") {
		s.GPUs, _ = cmd.Flags().GetIntSlice("gpus")
	}
	if text, ok := topologies.Source(name); ok {
		s.Text = string(text)
	} else if !isGenerator(name) {
		text, err := readFile(cmd.Context(), name, maxImport) // resolving it has read it already, with a lower limit
		if err != nil {
			return s, err
		}
		s.Text = string(text)
	}
	return s, nil
}

// folderName replaces characters that do not belong in a file's name by _.
func folderName(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.,@", r) {
			return r
		}
		return '_'
	}, s)
}

// checkRuntime refuses a runtime that cannot compute the trial's reduction or element
// type.
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
		op = "sum" // --op has no effect
	}
	if why := runtime.Computes(op, trial.DType); why != "" {
		return usagef("--runtime %s: %s: leave out --runtime, or change --op or --dtype", name, why)
	}
	return nil
}

// keepMemoryLimit keeps the memory limit that the campaign was begun with for refusing
// candidates, so that every machine refuses the same. It says so if this command may
// use another amount.
func (r *searchRequest) keepMemoryLimit(cmd *cobra.Command, c *results.Campaign) {
	r.options.Memory = c.Plan().Memory
	if limit := memoryLimit(cmd); r.options.Memory != 0 && r.options.Memory != limit {
		fmt.Fprintf(cmd.ErrOrStderr(), "candidates are refused by the memory limit that the campaign was begun with, %v; this command may use %v\n", units.Bytes(r.options.Memory), units.Bytes(limit))
	}
}
