package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/workload"
)

func workloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload FILE…",
		Short: "Say what a training or inference step gains by mixing libraries",
		Long: `workload takes the calls and computes of a step from a file and prints how long the step
takes with each library alone, with one library for each collective, and with the fastest
library for each call; which calls change sides; and which one is most worth tuning. The
times are those of tables (colltune table build) and campaigns. Traces are steps, too:
those of PyTorch's profiler, Chakra's, and NCCL's debug log, one FILE a rank.

  colltune workload step.toml --table worked.table
  colltune workload step.toml --table worked.table --campaign tuned=campaigns/dgx-a100-1x-allreduce
  colltune workload step.toml --table worked.table --calls -o csv
  colltune workload step.toml --table worked.table --out step.html

A call that a library lacks is made by the one of --fallback, and that is said. The order of
calls is checked: a cycle, on which all would wait for ever, is an error that names its calls. --out FILE.html draws the
step as a timeline, with what each case takes.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return nil // traces, one a rank
			}
			return exactArgs("the FILE of a step")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := compareSteps(cmd, args)
			if err != nil {
				return err
			}
			last := results[len(results)-1]
			s := caseSheet(results)
			switch {
			case given(cmd, "calls") && given(cmd, "schedule"):
				return usagef("--calls and --schedule: want one of them")
			case given(cmd, "calls"):
				s = callSheet(last)
			case given(cmd, "schedule"):
				s = scheduleSheet(last)
			}
			if strings.HasSuffix(flagValue(cmd, "out"), ".html") {
				return writeOut(cmd, timelineOf(last).WritePage)
			}
			return printResult(cmd, "workload", workloadDocument(results), s)
		},
	}
	cmd.Flags().StringArray("table", nil, "a `TABLE` of times, of colltune table build; may be repeated")
	cmd.Flags().StringArray("campaign", nil, "`NAME=DIR`: a campaign, whose winners are a library of that name; may be repeated")
	cmd.Flags().IntSlice("ranks", nil, "the numbers of ranks, in place of the file's; efficiency is relative to the first")
	cmd.Flags().StringArrayP("param", "p", nil, "a parameter of the file: `NAME=VALUE`")
	cmd.Flags().StringArray("counts", nil, "`NAME=FILE`: the counts, as search --counts reads them, of the traffic that the step calls NAME; may be repeated")
	cmd.Flags().String("system", "", "of times of several systems, those of this system")
	cmd.Flags().StringSlice("use", nil, "only these `LIBRARIES`, by name, or by name and version as tables print them (default: all)")
	cmd.Flags().String("fallback", "nccl", "the `LIBRARY` that makes the calls that another one lacks; none: nobody does")
	cmd.Flags().StringSlice("on-host", nil, "`LIBRARIES` that are not aware of streams, as most MPI: the host waits for their calls")
	cmd.Flags().StringSlice("simulate", nil, "simulate these `LIBRARIES` on the system of --topology: nccl or rccl, whichever it has, and mpi, of messages ("+strings.Join(workload.MPISystems(), ", ")+")")
	topologyFlag(cmd)
	cmd.Flags().Int("gpus-per-node", 0, "of traces: how many GPUs a node has, from which the nodes of a group follow (default: not stated)")
	cmd.Flags().String("dtype", "", "the elements of calls that state none")
	cmd.Flags().Bool("recorded", false, "let the trace's own times of calls compete, as a library named recorded")
	cmd.Flags().Bool("calls", false, "print the calls instead of the cases")
	cmd.Flags().Bool("schedule", false, "print the order of calls of the fine mix, with its streams and events, instead of the cases")
	outputFlags(cmd)
	return cmd
}

func given(cmd *cobra.Command, flag string) bool {
	v, _ := cmd.Flags().GetBool(flag)
	return v
}

// compareSteps compares the cases of the step, once for each number of ranks.
func compareSteps(cmd *cobra.Command, paths []string) (results []*workload.Result, err error) {
	o := workload.Options{}
	if o.Parameters, err = numbersOf(cmd, "param"); err != nil {
		return nil, err
	}
	if o.NodeGPUs, _ = cmd.Flags().GetInt("gpus-per-node"); o.NodeGPUs < 0 || o.NodeGPUs > workload.MaxRanks {
		return nil, usagef("--gpus-per-node: want a number from 1 to %d", workload.MaxRanks)
	}
	if o.DType, err = measured.ParseCondition(measured.DType, flagValue(cmd, "dtype")); err != nil {
		return nil, usagef("--dtype %w", err)
	}
	if o.Matrices, err = matricesOf(cmd); err != nil {
		return nil, err
	}
	var files []workload.File
	for _, path := range paths {
		text, known := workload.ShippedStep(path)
		if !known {
			if text, err = readFile(cmd.Context(), path, workload.MaxTraceBytes); err != nil {
				return nil, unknownStep(path, err)
			}
		}
		files = append(files, workload.File{Name: path, Text: text})
	}
	table, err := tableOfTimes(cmd)
	if err != nil {
		return nil, err
	}
	using := workload.Libraries{Fallback: flagValue(cmd, "fallback")}
	using.Use, _ = cmd.Flags().GetStringSlice("use")
	using.OnHost, _ = cmd.Flags().GetStringSlice("on-host")
	if using.Fallback == "none" {
		using.Fallback = ""
	}
	scales, _ := cmd.Flags().GetIntSlice("ranks")
	if slices.ContainsFunc(scales, func(n int) bool { return n < 1 || n > workload.MaxRanks }) {
		return nil, usagef("--ranks: want numbers from 1 to %d", workload.MaxRanks)
	}
	if len(scales) == 0 {
		scales = []int{0}
	}
	for _, o.Ranks = range scales {
		step, recorded, err := workload.Read(files, o)
		if err != nil {
			return nil, workloadError(err)
		}
		source, err := sourceOf(cmd, table, recorded, o.Matrices)
		if err != nil {
			return nil, err
		}
		r, err := workload.Compare(step, source, using)
		if err != nil {
			return nil, workloadError(err)
		}
		results = append(results, r)
	}
	return results, nil
}

// unknownStep adds the names of shipped steps to the error of a file that is not there.
func unknownStep(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names := workload.Shipped()
	return usagef("%w: want a file, or one of %s%s", err, strings.Join(names, ", "), suggest.DidYouMean(path, names))
}

// workloadError gives an error of Compare its exit code.
func workloadError(err error) error {
	var missing *workload.MissingError
	var deadlock *workload.Deadlock
	switch {
	case errors.As(err, &missing):
		return &nothingError{err}
	case errors.As(err, &deadlock):
		return &wrongError{err}
	}
	return usage(err)
}

// matricesOf reads the counts of --counts NAME=FILE.
func matricesOf(cmd *cobra.Command) (map[string][]int, error) {
	named, _ := cmd.Flags().GetStringArray("counts")
	matrices := map[string][]int{}
	for _, text := range named {
		name, path, ok := strings.Cut(text, "=")
		if !ok || name == "" || path == "" {
			return nil, usagef("--counts %q: want NAME=FILE", text)
		}
		content, err := readFile(cmd.Context(), path, maxCounts)
		if err != nil {
			return nil, err
		}
		if matrices[name], err = collective.ParseCounts(path, content); err != nil {
			return nil, usage(err)
		}
	}
	return matrices, nil
}

// numbersOf reads a flag of NAME=NUMBER.
func numbersOf(cmd *cobra.Command, flag string) (map[string]float64, error) {
	assignments, _ := cmd.Flags().GetStringArray(flag)
	numbers := map[string]float64{}
	for _, a := range assignments {
		name, value, _ := strings.Cut(a, "=")
		x, err := strconv.ParseFloat(value, 64)
		if _, twice := numbers[name]; err != nil || name == "" || twice {
			return nil, usagef("--%s %q: want NAME=NUMBER, each name once", flag, a)
		}
		numbers[name] = x
	}
	return numbers, nil
}

// tableOfTimes is the rows of all tables and campaigns that the flags name; nil: they name none.
func tableOfTimes(cmd *cobra.Command) (*libraries.Table, error) {
	var rows []measured.Row
	tables, _ := cmd.Flags().GetStringArray("table")
	var equal []measured.Condition
	for _, path := range tables {
		t, err := readTable(cmd, path)
		if err != nil {
			return nil, err
		}
		rows, equal = append(rows, t.Rows...), append(equal, t.Equal...)
	}
	campaigns, _ := cmd.Flags().GetStringArray("campaign")
	for _, text := range campaigns {
		name, dir, named := strings.Cut(text, "=")
		if !named || !isFolder(dir) {
			return nil, usagef("--campaign %s: want NAME=DIR, the folder of a campaign", text)
		}
		more, err := readLibrary(cmd, name+"="+dir)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if len(equal) == 0 {
		equal = libraries.DefaultEqual
	}
	slices.Sort(equal)
	t, warnings := libraries.Build(rows, slices.Compact(equal))
	tellSome(cmd.ErrOrStderr(), warnings)
	return t, nil
}

// sourceOf makes the source of times that the flags name. recorded are a trace's own.
func sourceOf(cmd *cobra.Command, table *libraries.Table, recorded []measured.Row, matrices map[string][]int) (workload.Source, error) {
	var sources workload.Sources
	if table != nil {
		sources = append(sources, workload.FromTable(table, flagValue(cmd, "system")))
	}
	if given(cmd, "recorded") {
		if len(recorded) == 0 {
			return nil, usagef("--recorded: no times of calls were recorded there: want a trace of PyTorch's profiler, or Chakra's")
		}
		t, _ := libraries.Build(recorded, libraries.DefaultEqual)
		sources = append(sources, workload.FromTable(t, ""))
	}
	if names, _ := cmd.Flags().GetStringSlice("simulate"); len(names) > 0 {
		v := &workload.Vendor{Context: cmd.Context(), System: flagValue(cmd, "topology"), Matrices: matrices, Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }}
		if v.System == "" {
			return nil, usagef("--simulate: want a system as well, --topology")
		}
		more, err := workload.Simulate(v, names)
		if err != nil {
			return nil, usagef("--simulate: %w", err)
		}
		sources = append(sources, more...)
	}
	if len(sources) == 0 {
		return nil, usagef("--table is missing: want a table of times, --campaign NAME=DIR, --simulate LIBRARY, or --recorded of a trace")
	}
	return sources, nil
}
