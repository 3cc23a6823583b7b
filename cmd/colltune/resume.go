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
Of a finished campaign, whose trials all have a result, it prints the table. A trial
without a result (failed, crashed, timed out) is repeated, up to three times in all;
one that timed out also whenever --timeout is longer than it was. A program that the
campaign names is only run if you have run it for this folder before, or name it.

  colltune resume campaigns/dgx-a100-1x-allreduce
  colltune resume campaigns/dgx-a100-1x-allreduce --budget 10m`,
		Args:              exactArgs("the campaign's folder DIR"),
		RunE:              func(cmd *cobra.Command, args []string) error { return resume(cmd, args[0], results.Open) },
		ValidArgsFunction: firstIs(completeFolder),
	}
	runFlags(cmd)
	own := cmd.Flags().Lookup("executor") // the default is the campaign's
	own.DefValue, own.Usage = "", "the campaign's executor, named again so that its program may run: its name or `PATH`"
	outputFlags(cmd)
	return cmd
}

// resume goes on with the campaign in dir, which open opens for writing. If it
// can't be written, a finished campaign is still printed.
func resume(cmd *cobra.Command, dir string, open func(string) (*results.Campaign, error)) error {
	c, closed := openCampaign(cmd, open, dir)
	if accessDenied(closed) {
		var err error
		if c, err = openCampaign(cmd, results.OpenReadOnly, dir); err != nil {
			return err
		}
	} else if closed != nil {
		return closed
	}
	defer c.Close()
	// The flags are checked first, whether or not there is anything left to do.
	by, err := campaignExecutor(cmd, c)
	if err != nil {
		return err
	}
	effort, err := runOptions(cmd)
	if err != nil {
		return err
	}
	if c.Finished() && !hasRetryable(c, effort.Timeout) {
		t, err := table.Build(c)
		if err == nil {
			err = checkWinners(c, t.Rows)
		}
		if err != nil {
			return err
		}
		return printTable(cmd, c, "results")
	}
	if closed != nil {
		return closed
	}
	if err := checkTrusted(cmd, c, by); err != nil {
		return err
	}
	a := &searchRequest{plan: c.Plan(), dir: dir}
	if a.problem, a.options, err = search.FromPlan(a.plan); err != nil {
		return usage(fmt.Errorf("%s: %w", dir, err))
	}
	return runCampaign(cmd, a, c, effort, "results")
}

// hasRetryable tells whether some trials without a result would be made again on the
// campaign's executor.
func hasRetryable(c *results.Campaign, timeout time.Duration) bool {
	if timeout == 0 {
		timeout = executor.DefaultTrialTimeout
	}
	return slices.ContainsFunc(c.Trials(), func(t results.Trial) bool { return t.Retryable(timeout) })
}
