package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/executor/sim"
)

// executorFlags adds --executor and the flags of hostFlags.
func executorFlags(cmd *cobra.Command) {
	cmd.Flags().String("executor", sim.Name, "the executor that runs programs: a `NAME` that executor list shows, or the path of a plugin")
	_ = cmd.RegisterFlagCompletionFunc("executor", completeExecutor)
	hostFlags(cmd)
}

// hostFlags adds --plugin-dir, where plugins are, and --timeout.
func hostFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("plugin-dir", nil, "look for colltune-executor-NAME in this `DIR` before PATH")
	cmd.Flags().Duration("timeout", 0, "time limit of a trial or of a solver query (default: 10m for a trial; solvers of a search are limited by counted work alone)")
}

// pluginDirs reads --plugin-dir.
func pluginDirs(cmd *cobra.Command) []string {
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	return dirs
}

// hostOptions reads the flags of hostFlags.
func hostOptions(cmd *cobra.Command) (host.Options, error) {
	o := host.Options{
		Dirs:   pluginDirs(cmd),
		Memory: memoryLimit(cmd) / 10 * 9, // so that a leak ends the executor before the command
	}
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
func startExecutor(ctx context.Context, cmd *cobra.Command) (*host.Host, error) {
	o, err := hostOptions(cmd)
	if err != nil {
		return nil, err
	}
	return host.Start(ctx, flagValue(cmd, "executor"), o)
}
