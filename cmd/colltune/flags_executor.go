package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
)

// executorFlags adds --executor, --timeout, and the flags that say where plugins
// are.
func executorFlags(cmd *cobra.Command) {
	cmd.Flags().String("executor", "sim", "what runs the programs: a `NAME` that executor list shows, or the path of a plugin")
	_ = cmd.RegisterFlagCompletionFunc("executor", completeExecutor)
	hostFlags(cmd)
}

// hostFlags adds the flags that say where executors are and how long to wait for
// them.
func hostFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("plugin-dir", nil, "look for colltune-executor-NAME in this `DIR` before PATH")
	cmd.Flags().Duration("timeout", 0, "time limit of a trial or of a solver query (default: 10m for a trial, 1m for a query)")
}

// hostOptions reads the flags of hostFlags.
func hostOptions(cmd *cobra.Command) (executor.HostOptions, error) {
	var o executor.HostOptions
	o.Dirs, _ = cmd.Flags().GetStringSlice("plugin-dir")
	o.Memory = memoryLimit(cmd) / 10 * 9 // an executor that leaks is ended, and not the command
	o.TrialTimeout, _ = cmd.Flags().GetDuration("timeout")
	if o.TrialTimeout < 0 || o.TrialTimeout == 0 && isSet(cmd, "timeout") {
		return o, usagef("--timeout %s: want a time above 0", o.TrialTimeout)
	}
	if verbose(cmd) {
		o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return o, nil
}

// startExecutor starts the executor that --executor names.
func startExecutor(ctx context.Context, cmd *cobra.Command) (*executor.Host, error) {
	o, err := hostOptions(cmd)
	if err != nil {
		return nil, err
	}
	return executor.Start(ctx, flagValue(cmd, "executor"), o)
}
