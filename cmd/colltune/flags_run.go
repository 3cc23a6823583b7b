package main

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/search"
)

// runFlags adds the flags of search and resume that may differ from run to run:
// executor, limits, jobs.
func runFlags(cmd *cobra.Command) {
	executorFlags(cmd)
	cmd.Flags().Duration("budget", 0, "stop after this long and keep the results so far (default: no limit)")
	cmd.Flags().Int("trials", 0, "stop after this many new trials and keep the results so far (default: no limit)")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "number of trials and compilations at a time; never changes the result")
}

// executorFlagsAgain returns the flags by which resume finds the executor again.
// remembered says that resume trusts it without --executor.
func executorFlagsAgain(cmd *cobra.Command, remembered bool) string {
	var flags string
	if name := flagValue(cmd, "executor"); strings.ContainsRune(name, filepath.Separator) || !remembered {
		flags += " --executor " + safe.Path(name)
	}
	for _, dir := range pluginDirs(cmd) {
		flags += " --plugin-dir " + safe.Path(dir)
	}
	return flags
}

// runOptions reads the flags of runFlags. The caller closes the executors.
func runOptions(cmd *cobra.Command) (search.Effort, error) {
	var e search.Effort
	e.Jobs, _ = cmd.Flags().GetInt("jobs")
	e.Trials, _ = cmd.Flags().GetInt("trials")
	e.Budget, _ = cmd.Flags().GetDuration("budget")
	o, err := hostOptions(cmd)
	switch {
	case err != nil:
		return e, err
	case e.Jobs < 1:
		return e, usagef("--jobs %d: want at least 1", e.Jobs)
	case e.Trials < 0 || e.Trials == 0 && isSet(cmd, "trials"):
		return e, usagef("--trials %d: want at least 1; leave it out for no limit", e.Trials)
	case e.Budget < 0 || e.Budget == 0 && isSet(cmd, "budget"):
		return e, usagef("--budget %s: want a time above 0; leave it out for no limit", e.Budget)
	}
	e.Timeout = o.TrialTimeout
	name := flagValue(cmd, "executor")
	ctx := cmd.Context()
	o.Identity = new(host.Identity)
	e.Executors = executor.NewPool(func() (executor.Executor, error) { return host.Start(ctx, name, o) })
	return e, nil
}

// openFirstExecutor starts the first executor of a search before its folder is made,
// so that an executor that is not available here, or whose settings are wrong, leaves no
// folder behind. It returns no other error: the search meets those again.
func openFirstExecutor(e *search.Effort, name string) error {
	if executor.IsModel(name) {
		return nil
	}
	if err := e.Executors.Open(); errors.Is(err, executor.ErrUnavailable) || errors.Is(err, executor.ErrSettings) {
		return err
	}
	return nil
}
