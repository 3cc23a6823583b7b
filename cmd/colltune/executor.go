package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// registerExecutors makes the built-in back ends known, in the host and in the
// child that becomes one.
func registerExecutors() {
	executor.RegisterBuiltin("sim", sim.New)
	executor.RegisterBuiltin("cpu", cpu.New)
	executor.RegisterDoctor("cpu", cpu.Needs)
	executor.RegisterDoctor("sim", func() []executor.Finding {
		return []executor.Finding{{What: "needs", Found: true, Detail: "nothing: it is a model, version " + sim.ModelVersion}}
	})
}

func executorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "executor",
		Short: "List and check what runs programs",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	cmd.AddCommand(executorListCommand(), executorCheckCommand())
	return cmd
}

// executorFlags adds --executor, where plugins are found, and --timeout.
func executorFlags(cmd *cobra.Command) {
	cmd.Flags().String("executor", "sim", "what runs programs: a name of `executor list`, or the path of a plugin")
	_ = cmd.RegisterFlagCompletionFunc("executor", completeExecutor)
	hostFlags(cmd)
}

// hostFlags adds how executors are found and waited for.
func hostFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("plugin-dir", nil, "look for colltune-executor-NAME in this `DIR` before PATH")
	cmd.Flags().Duration("timeout", 0, "how long a trial or a query may take (10m and 1m)")
}

// hostOptions are the flags' options for an executor's host.
func hostOptions(cmd *cobra.Command) (executor.HostOptions, error) {
	var o executor.HostOptions
	o.Dirs, _ = cmd.Flags().GetStringSlice("plugin-dir")
	o.TrialTimeout, _ = cmd.Flags().GetDuration("timeout")
	if o.TrialTimeout < 0 {
		return o, usagef("--timeout %s: want a time above 0", o.TrialTimeout)
	}
	if verbose(cmd) {
		o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return o, nil
}

// startExecutor starts what --executor names.
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
		Args:  exactly(),
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

// howStarted is where an executor's program is, or what launches it.
func howStarted(f executor.Found) string {
	how := f.Of
	if f.Launcher != "" {
		how += " by " + f.Launcher
	}
	return how + f.Path
}

// checkRow is one thing that was asked of an executor.
type checkRow struct {
	Check  string `json:"check"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

func executorCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Start an executor, ask what it is, and have it run a small program",
		Args:  exactly("the executor NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := hostOptions(cmd)
			if err != nil {
				return err
			}
			h, err := executor.Start(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			defer h.Close()
			d, rows, err := checkExecutor(cmd.Context(), h)
			if err != nil {
				return err
			}
			s := sheet{columns: []column{text("check"), text("ok"), text("detail")}}
			var failed []string
			for _, r := range rows {
				s.add(r.Check, yes(r.OK), r.Detail)
				if !r.OK {
					failed = append(failed, r.Check)
				}
			}
			if err := emit(cmd, "executor-check", struct {
				Executor executor.Description `json:"executor"`
				Checks   []checkRow           `json:"checks"`
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

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// checkExecutor asks what can be asked of any executor.
func checkExecutor(ctx context.Context, h executor.Executor) (executor.Description, []checkRow, error) {
	d, err := h.Describe(ctx)
	if err != nil {
		return d, nil, err
	}
	rows := []checkRow{
		{"describe", d.Name != "" && d.Version != "", fmt.Sprintf("%s %s, deterministic: %s, ranks: %s", d.Name, d.Version, yes(d.Deterministic), limit(d.MaxRanks))},
		{"fingerprint", len(d.Fingerprint) > 0, pairs(d.Fingerprint)},
		{"traits", len(d.Protocols) > 0 && len(d.DTypes) > 0, fmt.Sprintf("protocols %s; dtypes %s; operations %s", strings.Join(d.Protocols, " "), strings.Join(d.DTypes, " "), strings.Join(d.Operations, " "))},
	}
	t, err := topologies.Resolve("ring:2", topologies.Options{})
	if err != nil {
		return d, rows, err
	}
	for _, p := range topologies.AllProtocols {
		if !slices.Contains(d.Protocols, p.String()) {
			continue
		}
		row := checkRow{Check: "run " + p.String()}
		m, err := h.Run(ctx, executor.Trial{
			Program: exchange(), Topology: t, Bytes: 64 << 10, Protocol: p, TileBytes: int64(t.Protocols[p].Tile),
			DType: first(d.DTypes, "f32"), Op: first(d.Operations, "sum"), Iters: 2, Warmup: 1, Seed: 1,
		})
		switch {
		case err != nil:
			row.Detail = err.Error()
		case m.Wrong != 0:
			row.Detail = fmt.Sprintf("%d wrong elements", m.Wrong)
		default:
			row.OK = true
			row.Detail = fmt.Sprintf("%.3g us for 64 KiB, data checked: %s", slices.Min(m.TimesUS), yes(m.Checked))
		}
		rows = append(rows, row)
	}
	return d, rows, nil
}

// first is s[0], or what to take where there is none.
func first(s []string, otherwise string) string {
	if len(s) == 0 {
		return otherwise
	}
	return s[0]
}

func limit(n int) string {
	if n == 0 {
		return "any number"
	}
	return "up to " + strconv.Itoa(n)
}

func pairs(m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, " ")
}

// exchange is the smallest program there is to run: two ranks send each other
// their buffer.
func exchange() *ir.Program {
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: []ir.Step{
			{Op: ir.Send, Count: 1},
			{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out}},
		}}}}
	}
	return &ir.Program{
		Name:       "exchange",
		Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1},
		GPUs:       []ir.GPU{gpu(1), gpu(0)},
	}
}
