package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
)

func resumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume DIR",
		Short: "Go on with a campaign that was stopped, killed or cut short",
		Long: `resume goes on with a campaign where it ended; the plan is in its folder. On a
finished one, whose trials all have a result, it prints the table. Trials without
one are made again: three times in all, and whenever --timeout is longer than it
was.`,
		Args:              exactly("the campaign's folder DIR"),
		RunE:              func(cmd *cobra.Command, args []string) error { return resume(cmd, args[0], results.Open) },
		ValidArgsFunction: firstIs(completeFolder),
	}
	effortFlags(cmd)
	own := cmd.Flags().Lookup("executor") // what the campaign says, where nothing is given
	own.DefValue, own.Usage = "", "the campaign's own, where its plugin is on no path: the `PATH` of it"
	outputFlags(cmd)
	return cmd
}

// resume goes on with the campaign in dir, which open opens for writing. Where
// nothing may be written, one that is finished is still there to be read.
func resume(cmd *cobra.Command, dir string, open func(string) (*results.Campaign, error)) error {
	c, closed := openCampaign(open, dir)
	if readOnly(closed) {
		var err error
		if c, err = openCampaign(results.OpenReadOnly, dir); err != nil {
			return err
		}
	} else if closed != nil {
		return closed
	}
	defer c.Close()
	// What is asked is held to the rules before it is known whether there is
	// anything to be done.
	if err := sameExecutor(cmd, c.Plan().Executor); err != nil {
		return err
	}
	effort, err := effortOf(cmd)
	if err != nil {
		return err
	}
	if c.Finished() && !unsettled(c, effort.Timeout) {
		return printTable(cmd, c, "results")
	}
	if closed != nil {
		return closed
	}
	a := &asked{plan: c.Plan(), dir: dir}
	if a.problem, a.options, err = search.FromPlan(a.plan); err != nil {
		return usage(fmt.Errorf("%s: %w", dir, err))
	}
	return campaign(cmd, a, c, effort, "results")
}

// unsettled tells whether a campaign has trials without a result that would be
// made again. It is asked of the campaign's own back end.
func unsettled(c *results.Campaign, timeout time.Duration) bool {
	if timeout == 0 {
		timeout = executor.DefaultTrialTimeout
	}
	return slices.ContainsFunc(c.Trials(), func(t results.Trial) bool { return t.Open(timeout) })
}

// sameExecutor takes the plan's executor where none is given; one that is given
// must be called the same: a plugin that is on no path has to be given as a
// file again. A setting that names another is not meant for this campaign.
func sameExecutor(cmd *cobra.Command, planned string) error {
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	found, err := executor.Lookup(flagValue(cmd, "executor"), dirs...)
	if !typed(cmd, "executor") {
		if err == nil && found.Name == planned {
			return nil
		}
		return cmd.Flags().Set("executor", planned)
	}
	if err == nil && found.Name != planned {
		err = usagef("--executor %s: the campaign's trials are %s's", found.Name, planned)
	}
	return err
}
