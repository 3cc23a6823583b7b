package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/search"
)

// runFlags adds the flags that say how, and how far, a campaign is run.
func runFlags(cmd *cobra.Command) {
	executorFlags(cmd)
	cmd.Flags().Duration("budget", 0, "stop after this long and keep the results so far (default: no limit)")
	cmd.Flags().Int("trials", 0, "stop after this many new trials and keep the results so far (default: no limit)")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "how many trials and compilations run at a time; never changes the result")
}

// executorFlagsAgain repeats the flags by which the executor was found, for a command that
// is to find it again, and to run it even if it is not remembered.
func executorFlagsAgain(cmd *cobra.Command, remembered bool) string {
	var flags string
	if name := flagValue(cmd, "executor"); strings.ContainsRune(name, filepath.Separator) || !remembered {
		flags += " --executor " + safe.Path(name)
	}
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	for _, dir := range dirs {
		flags += " --plugin-dir " + safe.Path(dir)
	}
	return flags
}

// runOptions reads the flags of effortFlags.
func runOptions(cmd *cobra.Command) (search.Effort, error) {
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
	case e.Trials < 0 || e.Trials == 0 && isSet(cmd, "trials"):
		return e, usagef("--trials %d: want at least 1, or none of it for no limit", e.Trials)
	case e.Budget < 0 || e.Budget == 0 && isSet(cmd, "budget"):
		return e, usagef("--budget %s: want a time above 0, or none of it for no limit", e.Budget)
	}
	e.Timeout = host.TrialTimeout
	name := flagValue(cmd, "executor")
	ctx := cmd.Context()
	host.Identity = new(executor.Identity)
	e.Executors = executor.NewPool(func() (executor.Executor, error) { return executor.Start(ctx, name, host) })
	return e, nil
}

// openFirstExecutor starts the first executor of a search before the campaign's folder is
// made, so that an executor that this machine can't have leaves no folder behind. Other
// failures are the search's.
func openFirstExecutor(e *search.Effort, name string) error {
	if name == "sim" {
		return nil
	}
	if err := e.Executors.Open(); errors.Is(err, executor.ErrUnavailable) {
		return err
	}
	return nil
}
