package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

func resumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue a campaign that was stopped, killed or cut short",
		Long: `resume continues a campaign where it ended, with the plan that is in its folder.
Of a map's folder it continues each campaign in turn.
It prints the table of a campaign that is finished, unless --budget or --trials buy
further trials that its strategy expects something of. Trials without a result (failed,
crashed, timed out) are repeated, up to three attempts in all; those that timed out,
whenever --timeout is longer than before. A program that the campaign names runs only
if you have run it for this folder before, or name it with --executor.

  colltune resume campaigns/dgx-a100-1x-allreduce
  colltune resume campaigns/dgx-a100-1x-allreduce --budget 10m`,
		Args: exactArgs("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if results.IsMap(args[0]) {
				return resumeMap(cmd, args[0], results.OpenMap)
			}
			return resume(cmd, args[0], results.Open)
		},
		ValidArgsFunction: firstArg(completeFolder),
	}
	runFlags(cmd)
	own := cmd.Flags().Lookup("executor") // resume's default is the campaign's executor
	own.DefValue, own.Usage = "", "name the campaign's executor, so that its program may run: its name or `PATH`"
	outputFlags(cmd)
	return cmd
}

// resume continues the campaign in dir, which open opens for writing. It prints a
// finished campaign even where it cannot be written.
func resume(cmd *cobra.Command, dir string, open func(string) (*results.Campaign, error)) error {
	c, openErr := openCampaign(cmd, open, dir)
	if accessDenied(openErr) {
		var err error
		if c, err = openCampaign(cmd, results.OpenReadOnly, dir); err != nil {
			return err
		}
	} else if openErr != nil {
		return openErr
	}
	defer c.Close()
	// Check the flags first, even if there is nothing left to do.
	origin, err := campaignExecutor(cmd, c)
	if err != nil {
		return err
	}
	effort, err := runOptions(cmd)
	if err != nil {
		return err
	}
	if !goesOn(c, effort) {
		t, err := table.Build(c)
		if err == nil {
			err = checkWinners(c, t.Rows)
		}
		if err != nil {
			return err
		}
		_, err = printTable(cmd, "results", c)
		return err
	}
	if openErr != nil {
		return openErr
	}
	if err := checkTrusted(cmd, c, origin); err != nil {
		return err
	}
	r, err := plannedRequest(c)
	if err != nil {
		return err
	}
	return runCampaign(cmd, r, c, effort, "results")
}

func plannedRequest(c *results.Campaign) (r *searchRequest, err error) {
	r = &searchRequest{plan: c.Plan(), dir: c.Dir()}
	if r.problem, r.options, err = search.FromPlan(r.plan); err != nil {
		return nil, usage(fmt.Errorf("%s: %w", c.Dir(), err))
	}
	return r, nil
}

// goesOn reports whether a search with these limits would make trials: the campaign has not
// ended, or has some to repeat, or its strategy expects something of more.
func goesOn(c *results.Campaign, effort search.Effort) bool {
	more := (effort.Trials > 0 || effort.Budget > 0) && expectsMore(c)
	return !c.Finished() || hasRetryable(c, effort.Timeout) || more
}

// resumeMap continues the campaigns of the map in dir, each in turn, as resume does one.
func resumeMap(cmd *cobra.Command, dir string, open func(string) (*results.Map, error)) error {
	m := &mapSearch{dir: dir, schema: "results"}
	var openErr, err error // openErr is of writing to it
	m.opened, openErr = openCampaign(cmd, open, dir)
	if accessDenied(openErr) {
		if m.opened, err = openCampaign(cmd, results.OpenMapReadOnly, dir); err != nil {
			return err
		}
	} else if openErr != nil {
		return openErr
	}
	defer m.opened.Close()
	for _, c := range m.opened.Campaigns() {
		m.members = append(m.members, &mapMember{campaign: c})
	}
	all := m.campaigns()
	if err := results.SortMap(all); err != nil { // also that one executor measured all
		return usage(err)
	}
	origin, err := campaignExecutor(cmd, all[0])
	if err != nil {
		return err
	}
	effort, err := runOptions(cmd)
	if err != nil {
		return err
	}
	over := true
	for _, one := range m.members {
		one.done = !goesOn(one.campaign, effort)
		over = over && one.done
	}
	if over {
		t, err := tableOf(cmd.Context(), all, tableOptions{})
		if err == nil {
			err = checkMapWinners(all, t.Rows)
		}
		if err != nil {
			return err
		}
		_, err = printTable(cmd, "results", all...)
		return err
	}
	if openErr != nil {
		return openErr
	}
	for _, one := range m.members {
		if one.done {
			continue
		}
		if err := checkTrusted(cmd, one.campaign, origin); err != nil {
			return err
		}
		if one.request, err = plannedRequest(one.campaign); err != nil {
			return err
		}
	}
	return m.run(cmd)
}

// expectsMore reports whether the strategy of a campaign that has ended expects to gain more
// by further trials somewhere.
func expectsMore(c *results.Campaign) bool {
	tally, _ := c.Tally()
	return slices.ContainsFunc(tally.Outlook, func(o results.Outlook) bool { return !o.Done && o.Gain > 0 })
}

// hasRetryable reports whether the campaign has trials without a result that a search
// with this timeout would repeat. 0 is the default timeout.
func hasRetryable(c *results.Campaign, timeout time.Duration) bool {
	if timeout == 0 {
		timeout = executor.DefaultTrialTimeout
	}
	return slices.ContainsFunc(c.Trials(), func(t results.Trial) bool { return t.Retryable(timeout) })
}
