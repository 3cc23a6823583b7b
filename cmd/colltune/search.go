package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

func searchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search -t TOPOLOGY -c COLLECTIVE",
		Short: "Find the fastest program for each size, and keep the campaign",
		Long: `search finds the fastest program for a collective on a system, at each size. It
enumerates candidates, compiles and verifies them, times those that can win (on the
simulator, unless --executor names another), and prints the winning table. The
campaign's folder keeps every trial; the same search, or resume, continues it.

Each row is compared with the vendor's library: the release that --baseline names, as
you call it and in the state of your buffers (--registered) in which it is fastest. A
program is faster where it is so of both (docs/verdicts.md).

  colltune search -t dgx-a100 -c allreduce
  colltune search -t dgx-a100 --nodes 2 -c alltoall -b 64K -e 256M --family two-step
  colltune search -t frontier --nodes 1,4,16 -c allgather -b 1M -e 1G -f 4
  colltune search -t ring:8@50GB/s -c allgather --executor ./colltune-executor-mine`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := searchRequestsOf(cmd)
			if err != nil {
				return err
			}
			effort, err := runOptions(cmd)
			if err != nil {
				return err
			}
			if dry, _ := cmd.Flags().GetBool("dry-run"); dry {
				return dryRun(cmd, all)
			}
			defer effort.Executors.Close()
			if err := openFirstExecutor(&effort, all[0].options.Executor); err != nil {
				return err
			}
			if len(all) > 1 {
				if err := effort.Executors.Close(); err != nil {
					return err
				}
				return searchMap(cmd, all)
			}
			c, err := createCampaign(cmd, all[0])
			if err != nil {
				return err
			}
			defer c.Close()
			return runCampaign(cmd, all[0], c, effort, "search")
		},
	}
	for _, group := range searchFlags {
		groupFlags(cmd, group.name, func() { group.add(cmd) })
	}
	groupedUsage(cmd, lists.Map(searchFlags, func(g flagGroup) string { return g.name })...)
	return cmd
}

// searchFlags are the groups of search's flags, as its help lists them.
var searchFlags = []flagGroup{
	{"The problem", problemFlags},
	{"The candidates", candidateFlags},
	{"What they are compared with", comparisonFlags},
	{"How they are measured", func(cmd *cobra.Command) { trialFlags(cmd); runFlags(cmd) }},
	{"What is kept and printed", func(cmd *cobra.Command) {
		cmd.Flags().String("campaign", "", "the folder `DIR` to keep the campaign in (default: campaigns/TOPOLOGY-Nx-COLLECTIVE, of a map campaigns/TOPOLOGY-map-COLLECTIVE)")
		cmd.Flags().Bool("dry-run", false, "count the candidates, and foresee the search's time and memory; compile and measure nothing, write nothing")
		outputFlags(cmd)
	}},
}

// problemFlags adds the flags that say what is searched for.
func problemFlags(cmd *cobra.Command) {
	topologyFlag(cmd)
	cmd.Flags().IntSlice("nodes", nil, "number of nodes (default: as many as the topology says); several, separated by commas, make a map")
	gpusFlag(cmd)
	collectiveFlag(cmd)
	countsFlag(cmd)
	rootFlag(cmd)
	placementFlag(cmd, "in place, out of place or both", "in", "out", "both")
	sizeFlags(cmd)
	elementFlags(cmd)
}

// candidateFlags adds the flags that narrow the candidates.
func candidateFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("family", nil, "search only the families `NAMES`, separated by commas; nccl, rccl: settings of the system's library")
	cmd.Flags().StringSlice("exclude", nil, "leave out the families `NAMES`, separated by commas")
	for _, name := range []string{"family", "exclude"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeList(func() []string { return append(familyNames(), "nccl", "rccl") }))
	}
	cmd.Flags().StringArray("routing", nil, "search only this `ROUTING`: a family and its parameters, as 'ring channels=4 rings=4'; may be repeated")
	cmd.Flags().StringArray("template", nil, "also the families of this `FILE.star`, or of all files in a folder")
	paramFlag(cmd, "fix")
	cmd.Flags().Int("channels", 0, "fix the number of channels, of families that have that parameter (default: tuned)")
	cmd.Flags().Int("instances", 0, "fix the number of parallel instances (default: tuned)")
	choiceFlag(cmd, "protocol", "", "", topologies.ProtocolNames(), "fix the wire protocol (default: tuned)")
	cmd.Flags().Var(&size{}, "tile-bytes", "fix the tile size (default: tuned)")
	maxSMsFlag(cmd, "try only programs that take at most N SMs of a GPU (default: all)")
	choiceFlag(cmd, "runtime", "", "", export.RuntimeNames(), "try only programs that this runtime would load and run")
	choiceFlag(cmd, "strategy", "", "", autotune.Strategies(), "how trials are chosen (default: "+autotune.Bounded+"; "+autotune.MeasuredStrategy+" where times are measured)")
	cmd.Flags().Var(&percent{autotune.DefaultGain}, "gain", "the strategy model is done with a size when it expects to gain less than this `PERCENT` of its time")
	cmd.Flags().StringArray("learn-from", nil, "let the strategy model learn from this campaign too, that the same executor measured: its folder `DIR`")
	choiceFlag(cmd, "solver", "", "auto", solver.Names, "which solver fills the holes of templates")
}

// comparisonFlags adds the flags that say what the winners are compared with.
func comparisonFlags(cmd *cobra.Command) {
	baselineFlag(cmd)
	cmd.Flags().StringArray("library", nil, "`NAME=FILE[,CONDITION=VALUE…]`: a library's measurements, as of table build, stand beside the programs, and the fastest is the baseline; may be repeated")
}

// createCampaign makes a request's campaign, or opens the one that is there.
func createCampaign(cmd *cobra.Command, r *searchRequest) (*results.Campaign, error) {
	c, err := results.Create(r.dir, r.plan)
	if err != nil {
		var other *results.OtherPlanError
		if errors.As(err, &other) {
			err = usage(err)
		}
		return nil, err
	}
	printRemarks(cmd, c)
	return c, nil
}

// runCampaign runs a search to its end, a limit or an interrupt, and prints the table
// of its measurements so far. schema is the NAME in colltune.NAME/v1.
func runCampaign(cmd *cobra.Command, r *searchRequest, c *results.Campaign, effort search.Effort, schema string) error {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	resumeWith := "colltune resume " + safe.Path(c.Dir()) + executorFlagsAgain(cmd, rememberExecutor(cmd, c))
	summary, err := searchCampaign(cmd, r, c, effort)
	if err != nil && !leavesResults(err) {
		// Discard keeps a campaign with trials, which resume can continue, and removes
		// an empty one, such as after a mistake in a template.
		err = errors.Join(err, c.Discard())
		if at := (*fs.PathError)(nil); errors.As(err, &at) && isFolder(c.Dir()) {
			say("measurements so far are kept; continue with: %s", resumeWith)
		}
		return err
	}
	rows, printed := printTable(cmd, schema, c)
	if err != nil {
		sayUnfinished(cmd, r, summary)
		return errors.Join(sayEnd(cmd, err, rows, resumeWith), printed)
	}
	if printed == nil {
		say("campaign: %s", c.Dir())
	}
	return printed
}

// searchCampaign runs a search to its end, a limit or an interrupt, and says on standard
// error what became of it.
func searchCampaign(cmd *cobra.Command, r *searchRequest, c *results.Campaign, effort search.Effort) (autotune.Summary, error) {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	bar := newProgress(cmd.ErrOrStderr(), searchJob(len(r.plan.Placements()))...)
	bar.budget = effort.Budget
	r.options.Jobs = effort.Jobs
	r.options.Observer.Stage = bar.stage
	r.options.Observer.Notice = func(s string) { bar.pause(); say("%s", s) }
	if verbose(cmd) {
		r.options.Observer.Refused = func(f program.Refusal) { bar.pause(); say("refused: %s", f) }
	}
	effort.Progress = bar.event
	r.keepMemoryLimit(cmd, c)
	summary, err := search.Run(cmd.Context(), r.problem, r.options, c, effort)
	if closed := effort.Executors.Close(); err == nil {
		err = closed
	}
	bar.done()
	if cmd.Context().Err() != nil {
		err = endError(cmd.Context(), autotune.ErrInterrupted) // instead of the errors that the interrupt caused
	}
	if summary.Changed != nil {
		say("the executor is not that of the earlier trials (%s): they do not count", keyValues(summary.Changed.Fingerprint))
	}
	if summary.Known > 0 {
		say("%s taken from the campaign", units.Count(summary.Known, "trial"))
	}
	if summary.Again > 0 {
		say("%s without a result repeated", units.Count(summary.Again, "trial"))
	}
	if summary.Failed > 0 {
		say("%s without a result; see %s", units.Count(summary.Failed, "trial"), filepath.Join(c.Dir(), "trials.jsonl"))
	}
	return summary, err
}

// sayUnfinished says how far a search came that ended early.
func sayUnfinished(cmd *cobra.Command, r *searchRequest, summary autotune.Summary) {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
	switch {
	case summary.Cells == 0:
		say("no trial was made")
	case summary.Finished < summary.Cells:
		cells := "sizes"
		if r.problem.Both {
			cells = "sizes and placements"
		}
		say("%d of %d %s finished; %s not tried", summary.Finished, summary.Cells, cells, units.Count(summary.Untried, "candidate"))
	case summary.Undecided != "":
		say("the winners are known; the best choice of files for %s is not", summary.Undecided)
	}
}

// leavesResults reports whether a search that ended with err has results to print.
func leavesResults(err error) bool {
	return errors.Is(err, autotune.ErrLimit) || as[*autotune.TooSlowError](err) || as[*memory.Exceeded](err) || errors.Is(err, autotune.ErrInterrupted) || errors.Is(err, executor.ErrLost) || as[*autotune.UnansweredError](err)
}

// dryRun counts the candidates of a search, or of all numbers of nodes of a map, and foresees
// what it takes, without a campaign.
func dryRun(cmd *cobra.Command, all []*searchRequest) error {
	if name := all[0].options.Executor; !executor.IsModel(name) {
		fmt.Fprintf(cmd.ErrOrStderr(), "executor %s is not started: its native algorithms are not counted\n", name)
	}
	ctx := cmd.Context()
	budget, _ := cmd.Flags().GetDuration("budget")
	if budget > 0 {
		limited, cancel := context.WithTimeout(ctx, budget)
		defer cancel()
		ctx = limited
	}
	d := dryDocument{Command: all[0].plan.Command(), Campaign: all[0].dir, Refused: map[string]int{}, Seconds: new(float64)}
	if len(all) > 1 {
		d.Command, d.Campaign = mapCommand(all), filepath.Dir(all[0].dir)
	}
	references := 0
	var nothing error
	for _, r := range all {
		nodes := r.problem.Topology.Nodes
		bar := newProgress(cmd.ErrOrStderr(), estimateJob(len(r.plan.Placements()))...)
		r.options.Jobs, _ = cmd.Flags().GetInt("jobs")
		r.options.Observer.Stage = bar.stage
		r.options.Observer.Notice = func(s string) { bar.pause(); fmt.Fprintln(cmd.ErrOrStderr(), s) }
		if verbose(cmd) {
			r.options.Observer.Refused = func(f program.Refusal) { bar.pause(); fmt.Fprintf(cmd.ErrOrStderr(), "refused: %s\n", f) }
		}
		f, err := search.Foresee(ctx, r.problem, r.options)
		bar.done()
		switch {
		case len(all) > 1 && as[*search.NothingFound](err):
			nothing = cmp.Or(nothing, ofNodes(true, nodes, err))
			fmt.Fprintln(cmd.ErrOrStderr(), ofNodes(true, nodes, err))
			continue
		case err != nil && cmd.Context().Err() == nil && ctx.Err() != nil:
			return fmt.Errorf("%w: budget %v is too short to count the candidates", autotune.ErrLimit, budget)
		case err != nil:
			return ofNodes(len(all) > 1, nodes, err)
		}
		references += f.References
		d.add(r, f)
	}
	if len(d.Sizes) == 0 {
		return nothing
	}
	s := sheet{columns: []column{text("candidates"), number("number")}}
	s.add("enumerated", strconv.Itoa(d.Enumerated))
	for _, reason := range program.Reasons(d.Refused) {
		s.add("refused: "+reason, strconv.Itoa(d.Refused[reason]))
	}
	s.add("to be compiled", strconv.Itoa(d.Candidates-references))
	if references > 0 {
		s.add("for the baseline only", strconv.Itoa(references))
	}
	s.add("memory foreseen, MiB", strconv.FormatInt(d.Memory>>20, 10))
	if d.Seconds != nil {
		s.add("time foreseen, s", strconv.FormatFloat(*d.Seconds, 'f', 1, 64))
	}
	return printResult(cmd, "dry-run", d, s)
}

// dryDocument is what a search is foreseen to take: of a map, that of all together, but the
// most memory of any.
type dryDocument struct {
	Command    string         `json:"command"`
	Campaign   string         `json:"campaign"`
	Sizes      []int64        `json:"sizes"`
	Enumerated int            `json:"enumerated"`
	Refused    map[string]int `json:"refused"`
	Candidates int            `json:"candidates"`
	Memory     int64          `json:"predicted_memory_bytes"`
	Seconds    *float64       `json:"predicted_seconds"` // null where it is not known
}

func (d *dryDocument) add(r *searchRequest, f *search.Forecast) {
	d.Sizes = append(d.Sizes, r.problem.Sizes...)
	slices.Sort(d.Sizes)
	d.Sizes = slices.Compact(d.Sizes)
	d.Enumerated += f.Enumerated
	for reason, n := range program.ByReason(f.Refusals) {
		d.Refused[reason] += n
	}
	d.Candidates += f.Candidates + f.References
	d.Memory = max(d.Memory, f.Memory)
	if f.Seconds == nil || d.Seconds == nil {
		d.Seconds = nil
	} else {
		*d.Seconds += *f.Seconds
	}
}
