package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/executor/cuda"
	"github.com/colltune/colltune/executor/nccl"
	"github.com/colltune/colltune/executor/sim"
)

// registerExecutors makes the built-in executors known, both in the host and in
// the child that becomes one.
func registerExecutors() {
	executor.RegisterBuiltin("sim", sim.New)
	executor.RegisterBuiltin("cpu", cpu.New)
	executor.RegisterFollower("cpu", cpu.Follow)
	executor.RegisterDoctor("cpu", cpu.Needs)
	cuda.Register()
	nccl.Register()
	executor.RegisterDoctor("sim", func() []executor.Finding {
		return []executor.Finding{{What: "needs", Found: true, Detail: "nothing: it is a model, version " + sim.ModelVersion}}
	})
}

func executorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "executor",
		Short: "List and check executors: what runs programs",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	cmd.AddCommand(executorListCommand(), executorCheckCommand())
	return cmd
}

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
	if o.TrialTimeout < 0 || o.TrialTimeout == 0 && given(cmd, "timeout") {
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

func completeExecutor(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
	var names []string
	for _, f := range executor.List(dirs...) {
		names = append(names, f.Name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

func executorListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the executors that can be started by name",
		Long: `list prints the executors that --executor takes by name: the built-in ones, those of
the settings, and the plugins colltune-executor-NAME in --plugin-dir and on PATH.

  colltune executor list`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, _ := cmd.Flags().GetStringSlice("plugin-dir")
			found := executor.List(dirs...)
			s := sheet{columns: []column{text("executor"), text("kind"), text("how")}}
			for _, f := range found {
				s.add(f.Name, f.Kind, howStarted(f))
			}
			return emit(cmd, "executors", struct {
				Executors []executor.Found `json:"executors"`
			}{found}, s)
		},
	}
	cmd.Flags().StringSlice("plugin-dir", nil, "look for colltune-executor-NAME in this `DIR` before PATH")
	outputFlags(cmd)
	return cmd
}

// howStarted is the path of an executor's program, or its launcher's command.
func howStarted(f executor.Found) string {
	how := f.Of
	if f.Launcher != "" {
		how += " by " + f.Launcher
	}
	return how + f.Path
}

func executorCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Test that an executor keeps to the protocol",
		Long: `check starts an executor and tests that it keeps to the protocol (executor/protocol,
docs/plugins.md): its description, a small program for every wire protocol, element
type and reduction that it claims, refusals, trials that are given up, and processes
left behind. Exit code 5 means that something is wrong.`,
		Args: exactly("the executor NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hostOptions(cmd)
			if err != nil {
				return err
			}
			d, rows, err := executor.CheckProtocol(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			s := sheet{columns: []column{text("check"), text("ok"), text("detail")}}
			var failed []string
			for _, r := range rows {
				s.add(r.Name, yes(r.OK), firstLine(r.Detail))
				if !r.OK {
					failed = append(failed, r.Name)
				}
			}
			if err := emit(cmd, "executor-check", struct {
				Executor executor.Description `json:"executor"`
				Checks   []executor.Check     `json:"checks"`
			}{d, rows}, s); err != nil || len(failed) == 0 {
				return err
			}
			return &wrongError{fmt.Errorf("executor %s: %s not right", args[0], strings.Join(failed, ", "))}
		},
		ValidArgsFunction: firstIs(completeExecutor),
	}
	hostFlags(cmd)
	outputFlags(cmd)
	return cmd
}

// firstLine is the first line of a text.
func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return strings.TrimSuffix(first, "; its last output:")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func pairs(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, " ")
}
