package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/dispatcher"
)

// dispatcherFormat is the export of a map as a dispatcher, a name of --to besides those of
// package export.
const dispatcherFormat = "dispatcher"

// dispatcherFlags adds the flags of that export.
func dispatcherFlags(cmd *cobra.Command) {
	cmd.Flags().IntSlice("nodes", nil, "of a dispatcher: numbers of nodes between those of the map to search briefly (default: midway between neighbours)")
	cmd.Flags().StringArray("held-out", nil, "judge a dispatcher on the campaign or map in `DIR`, of other numbers of nodes; may be repeated")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "of a dispatcher: number of trials and compilations at a time; never changes the result")
}

// exportDispatcher writes the dispatcher of a map: its file, the programs in a folder for each
// number of nodes, and the campaigns of short searches, with which the next export goes on.
func exportDispatcher(cmd *cobra.Command, bar *progress, campaigns []*results.Campaign, out string, options func(*results.Campaign) (export.Options, error)) (export.Report, error) {
	report := export.Report{Format: dispatcherFormat, Files: []export.File{}, Losses: []export.Loss{}, Gaps: []export.Gap{}, Notes: []string{}, Warnings: []string{}}
	d, err := dispatcher.New(campaigns)
	if err != nil {
		return report, usage(err)
	}
	dirs, _ := cmd.Flags().GetStringArray("held-out")
	others, closeOthers, err := openCampaigns(cmd, dirs)
	defer closeOthers()
	if err != nil {
		return report, err
	}
	if err := results.SortMap(slices.Concat(campaigns, others)); err != nil {
		return report, usage(err)
	}
	between := d.Middles()
	if typed(cmd, "nodes") {
		between, _ = cmd.Flags().GetIntSlice("nodes")
		slices.Sort(between)
		between = slices.Compact(between)
	}
	bar.job = dispatcherJob(len(campaigns), len(between), len(campaigns[0].Plan().Placements()))
	o := dispatcher.Observer{Stage: bar.stage, Notice: func(s string) { bar.pause(); fmt.Fprintln(cmd.ErrOrStderr(), s) }}
	briefs, err := briefSearches(cmd, d, campaigns, between, out, o)
	if err != nil {
		return report, err
	}
	all := campaigns
	for _, b := range briefs {
		c, err := searchBriefly(cmd, d, b, out, bar, o)
		if err != nil {
			return report, err
		}
		if c != nil {
			defer c.Close()
			all = append(all, c)
		}
	}
	leftOut, err := d.LeaveOut(cmd.Context(), o)
	if err != nil {
		return report, err
	}
	var heldOut *dispatcher.Regret
	if len(others) > 0 {
		if heldOut, err = d.HeldOut(cmd.Context(), others, o); err != nil {
			return report, usage(err)
		}
	}
	programs, err := export.WriteMap(all, out, func(c *results.Campaign) (export.Options, error) {
		o, err := options(c)
		o.To = "ir"
		return o, err
	})
	if err != nil && !errors.Is(err, export.ErrNothingFits) { // the library everywhere, or its own algorithms
		return report, err
	}
	document := d.Document(dispatcherHead(campaigns, d), func(r *dispatcher.Row) dispatcher.Program {
		for _, f := range programs.Files {
			if f.Nodes == r.Nodes && f.Placement == r.Placement && f.IR == r.IR && f.MinBytes <= r.Bytes && r.Bytes <= f.MaxBytes {
				return dispatcher.Program{File: f.Name, Last: f.MaxBytes}
			}
		}
		return dispatcher.Program{}
	})
	document.LeftOut, document.HeldOut = leftOut, heldOut
	text, err := document.Text()
	if err != nil {
		return report, err
	}
	notes, err := export.WriteFiles(out, `colltune-.*-dispatcher\.json`, []tuning.File{{Name: d.FileName(), Text: text}})
	if err != nil {
		return report, err
	}
	report.Files = append([]export.File{{Name: d.FileName()}}, programs.Files...)
	report.Notes = append(regretNote("each inner number of nodes of the map left out", leftOut), regretNote("held out", heldOut)...)
	report.Notes = append(append(report.Notes, programs.Notes...), notes...)
	report.Warnings, report.Summary = append(report.Warnings, programs.Warnings...), programs.Summary
	report.Load = []string{fmt.Sprintf("%s lists rules[] with min_nodes, max_nodes, min_bytes and max_bytes (both included; 0: no end), and what to run there", filepath.Join(out, d.FileName()))}
	return report, nil
}

// briefSearches prepares the short searches of a dispatcher. Whatever refuses the export, such as
// another's file in the place of one that it may have to write, does so here, before anything is
// written.
func briefSearches(cmd *cobra.Command, d *dispatcher.Dispatcher, campaigns []*results.Campaign, between []int, out string, o dispatcher.Observer) (briefs []*dispatcher.Brief, err error) {
	if jobs, _ := cmd.Flags().GetInt("jobs"); jobs < 1 {
		return nil, usagef("--jobs %d: want at least 1", jobs)
	}
	if err := export.CheckFiles(out, regexp.QuoteMeta(d.FileName())); err != nil {
		return nil, err
	}
	for _, c := range campaigns {
		if err := export.Check(results.MapMember(out, c.Plan().Topology.Nodes), c.Plan()); err != nil {
			return nil, err
		}
	}
	for _, nodes := range between {
		b, err := d.Between(cmd.Context(), nodes, o)
		switch {
		case as[*dispatcher.NotBetweenError](err):
			return nil, usagef("--nodes: %w", err)
		case err != nil:
			return nil, err
		case b == nil:
			continue
		}
		if err := export.Check(results.MapMember(out, nodes), b.Plan); err != nil {
			return nil, err
		}
		if err := results.Check(briefFolder(out, nodes), b.Plan); err != nil {
			return nil, err
		}
		briefs = append(briefs, b)
	}
	return briefs, nil
}

// briefFolder is the campaign of the short search on a number of nodes.
func briefFolder(out string, nodes int) string {
	return results.MapMember(filepath.Join(out, "between"), nodes)
}

// searchBriefly makes a short search.
func searchBriefly(cmd *cobra.Command, d *dispatcher.Dispatcher, b *dispatcher.Brief, out string, bar *progress, o dispatcher.Observer) (*results.Campaign, error) {
	jobs, _ := cmd.Flags().GetInt("jobs")
	h := host.Options{Memory: memoryLimit(cmd) / 10 * 9, Identity: new(host.Identity)}
	how := search.Effort{Jobs: jobs, Executors: executor.NewPool(func() (executor.Executor, error) { return host.Start(cmd.Context(), sim.Name, h) })}
	if bar.bar != nil { // on a terminal only
		how.Progress = bar.event
	}
	c, err := d.Search(cmd.Context(), b, briefFolder(out, b.Nodes), how, o)
	if closed := how.Executors.Close(); err == nil {
		err = closed
	}
	return c, err
}

// regretNote says what a dispatcher's regret is; nil: there is none to say.
func regretNote(of string, g *dispatcher.Regret) []string {
	if g == nil {
		return nil
	}
	return []string{fmt.Sprintf("regret, %s: %s", of, g)}
}

func dispatcherHead(campaigns []*results.Campaign, d *dispatcher.Dispatcher) []string {
	plan := campaigns[0].Plan()
	executor, _ := campaigns[0].Executor()
	head := []string{
		export.Provenance(plan.Version), mapPlans(campaigns),
		fmt.Sprintf("executor %s %s", executor.Name, executor.Hash()), fmt.Sprintf("seed %d", plan.Seed),
		"of " + units.Count(len(campaigns), "campaign"),
	}
	if line := d.BaselineLine(); line != "" {
		head = append(head, line)
	}
	return append(head, d.Evidence().Lines()...)
}
