package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/conform"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/executor/cuda"
	"github.com/colltune/colltune/executor/nccl"
	"github.com/colltune/colltune/executor/replay"
	"github.com/colltune/colltune/executor/sim"
)

// registerExecutors registers the built-in executors. The command needs them, and so
// does the child process that runs as one.
func registerExecutors() {
	executor.RegisterBuiltin("cpu", cpu.New)
	executor.RegisterDoctor("cpu", cpu.Needs)
	cuda.Register()
	nccl.Register()
	replay.Register()
	executor.RegisterDoctor(sim.Name, func() []executor.Finding {
		return []executor.Finding{{What: "needs", Found: true, Detail: "nothing: it is a model, version " + sim.ModelVersion}}
	})
}

func executorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "executor",
		Short: "List and check executors, which run programs",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(executorListCommand(), executorCheckCommand())
	return cmd
}

func executorListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the executors that can be started by name",
		Long: `list prints the executors that --executor takes by name: the built-in ones, those of
the settings, and the plugins colltune-executor-NAME in --plugin-dir and on PATH.

  colltune executor list`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := executor.List(pluginDirs(cmd)...)
			s := sheet{columns: []column{text("executor"), text("kind"), text("how")}}
			for _, f := range found {
				s.add(f.Name, f.Kind, howStarted(f))
			}
			return printResult(cmd, "executors", struct {
				Executors []executor.Found `json:"executors"`
			}{found}, s)
		},
	}
	cmd.Flags().StringSlice("plugin-dir", nil, "look for colltune-executor-NAME in this `DIR` before PATH")
	outputFlags(cmd)
	return cmd
}

// howStarted returns the path of an executor's program, or the executor that a launcher
// starts and the launcher.
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
		Short: "Test that an executor follows the protocol",
		Long: `check starts an executor and tests that it follows the protocol (executor/protocol,
docs/plugins.md): its description, a small program for every wire protocol, element
type and reduction that it claims, refusals, cancelled trials, and processes left
behind. Exit code 5 means that a check failed.`,
		Args: exactArgs("the executor NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hostOptions(cmd)
			if err != nil {
				return err
			}
			d, rows, err := conform.Run(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			s := sheet{columns: []column{text("check"), text("ok"), text("detail")}}
			var failed []string
			for _, r := range rows {
				s.add(r.Name, yesNo(r.OK), firstLine(r.Detail))
				if !r.OK {
					failed = append(failed, r.Name)
				}
			}
			if err := printResult(cmd, "executor-check", struct {
				Executor executor.Description `json:"executor"`
				Checks   []conform.Check      `json:"checks"`
			}{d, rows}, s); err != nil || len(failed) == 0 {
				return err
			}
			return &wrongError{fmt.Errorf("executor %s: failed: %s", args[0], strings.Join(failed, ", "))}
		},
		ValidArgsFunction: firstArg(completeExecutor),
	}
	hostFlags(cmd)
	outputFlags(cmd)
	return cmd
}
