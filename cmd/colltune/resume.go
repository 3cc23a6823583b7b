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
It prints the table of a campaign that is finished, unless --budget or --trials buy
further trials that its strategy expects something of. Trials without a result (failed,
crashed, timed out) are repeated, up to three attempts in all; those that timed out,
whenever --timeout is longer than before. A program that the campaign names runs only
if you have run it for this folder before, or name it with --executor.

  colltune resume campaigns/dgx-a100-1x-allreduce
  colltune resume campaigns/dgx-a100-1x-allreduce --budget 10m`,
		Args:              exactArgs("the campaign's folder DIR"),
		RunE:              func(cmd *cobra.Command, args []string) error { return resume(cmd, args[0], results.Open) },
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
	goOn := (effort.Trials > 0 || effort.Budget > 0) && expectsMore(c)
	if c.Finished() && !hasRetryable(c, effort.Timeout) && !goOn {
		t, err := table.Build(c)
		if err == nil {
			err = checkWinners(c, t.Rows)
		}
		if err != nil {
			return err
		}
		return printTable(cmd, c, "results")
	}
	if openErr != nil {
		return openErr
	}
	if err := checkTrusted(cmd, c, origin); err != nil {
		return err
	}
	r := &searchRequest{plan: c.Plan(), dir: dir}
	if r.problem, r.options, err = search.FromPlan(r.plan); err != nil {
		return usage(fmt.Errorf("%s: %w", dir, err))
	}
	return runCampaign(cmd, r, c, effort, "results")
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
