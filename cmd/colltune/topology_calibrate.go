package main

import (
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

func topologyCalibrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calibrate T {--measured [COLLECTIVE=]FILE[,CONDITION=VALUE…] | --runs [PROGRAM=]FILE | --campaign DIR}…",
		Short: "Fit a system's numbers to what was measured on it",
		Long: `calibrate compares the simulator with measured times, and fits three kinds of number:
the time before a call's first byte, the bandwidth of each kind of link, and the speed
of threadblocks. Each stays within physical bounds, and the output names those it met.

The times are the library's or programs':
  --measured FILE   the library's own choice at each size: nccl-tests' output, OSU's,
                    or CSV, with what it does not state behind it: osu.txt,ranks=8
  --runs FILE       the JSON of colltune run -o json: one program
  --campaign DIR    a campaign's measured trials: many programs
The library's times do not change the speed of threadblocks, unless the file's source
says that it is a guess, nor a number that it has from programs. With both, neither
comes out worse.

Half of the times is fitted to and the other half judges: where it comes out worse for
the library or for programs, no number changes. --out writes the topology file with
the fitted numbers, or as it was; the exit code is 0 in both cases.

Several tables are fitted at once, with equal weights; they may differ in collective
and number of nodes. A table's collective is the one before its FILE, else -c, else
the one that the table names. Its number of nodes is --nodes, or else its number of
ranks divided by the ranks of a node.

  colltune topology calibrate dgx-a100 --measured all_reduce.txt --runs runs.json --out fitted.toml`,
		Args:              exactArgs("the topology T"),
		RunE:              calibrateTopology,
		ValidArgsFunction: firstArg(completeTopology),
	}
	topologyPartFlags(cmd)
	collectiveFlag(cmd)
	cmd.Flags().StringArray("measured", nil, "a `[COLLECTIVE=]FILE` of the library's times on the system, in any form that table build reads, and behind it what it does not state, as in osu.txt,ranks=8; may be given several times")
	cmd.Flags().StringArray("runs", nil, "a `[PROGRAM=]FILE` with the JSON of colltune run on the system, and the program that ran, which is otherwise looked for beside FILE and here; may be given several times")
	cmd.Flags().StringArray("campaign", nil, "a campaign's folder `DIR`, of a search that measured on the system; may be given several times")
	cmd.Flags().VarP(&size{1 << 10}, "min-bytes", "b", "smallest size to fit")
	cmd.Flags().VarP(&size{}, "max-bytes", "e", "largest size to fit (default: no limit)")
	rootFlag(cmd)
	placementFlag(cmd, "which times of the table: in place or out of place", "in", "out")
	choiceFlag(cmd, "op", "", "sum", data.Operations(), "which times of the table: the reduction")
	choiceFlag(cmd, "dtype", "", "f32", collective.DTypes(), "which times of the table: the element type")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "number of simulations at a time; never changes the result")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	columnFlags(cmd)
	cmd.Flags().String("out", "", "write the topology file with the fitted numbers to `FILE`")
	return cmd
}

// calibrateTopology fits a topology to measured times, and prints the simulator's errors
// before and after.
func calibrateTopology(cmd *cobra.Command, args []string) error {
	file, text, err := topologyText(cmd, args[0])
	if err != nil {
		return err
	}
	tables, err := readSources(cmd, args[0])
	if err != nil {
		return err
	}
	jobs, _ := cmd.Flags().GetInt("jobs")
	if jobs < 1 {
		return usagef("--jobs %d: want at least 1", jobs)
	}
	bar := newProgress(cmd.ErrOrStderr())
	fit, err := calibrate.Fit(cmd.Context(), calibrate.Request{
		Tables: tables, Settled: topologies.SettledBy(text), Jobs: jobs,
		Progress: func(done, of int) { bar.stage("fitting", done, of) },
	})
	bar.done()
	if err != nil {
		return err
	}
	if out := flagValue(cmd, "out"); out != "" {
		fitted, err := topologies.Rewrite(file, text, fit.Calibration, calibrate.From(tables))
		if err != nil {
			return usage(err)
		}
		if err := writeFile(out, func(w io.Writer) error { _, err := w.Write(fitted); return err }); err != nil {
			return err
		}
	}
	s := calibrationSheet(tables, fit)
	if flagValue(cmd, "format") == "csv" {
		s = calibrationCSV(tables, fit)
	}
	return writeResult(cmd, cmd.OutOrStdout(), "calibration", calibrationDocument(tables, fit), s)
}

// topologyText returns the topology file to change, and its name for errors. A generator
// has none, which --out refuses.
func topologyText(cmd *cobra.Command, name string) (file string, text []byte, err error) {
	if text, ok := topologies.Source(name); ok {
		return name + ".toml", text, nil
	}
	if isGenerator(name) {
		if flagValue(cmd, "out") != "" {
			return "", nil, usagef("--out: %s is a generator, without numbers to change: want a catalogue name or a .toml file", name)
		}
		return name, nil, nil
	}
	text, err = readFile(cmd.Context(), name, maxImport)
	return name, text, err
}
