package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/topologies"
)

func exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export DIR… --to FORMAT --out PATH",
		Short: "Write the winners of a campaign or a map as files that a runtime loads",
		Long: `export writes the winners of a campaign as files into one folder, and prints how to
load them. A program is exported only for sizes at which the runtime would really
run it, and only where it is then faster than the library: other sizes are left to that.
It says where that means a slower program than the winner, or none;
-v says so of each size. Of a map's
folder, or of several campaigns that differ in their nodes alone, it writes a folder for
each number of nodes below PATH.

  colltune export campaigns/dgx-a100-1x-allreduce --to msccl-xml --out xml`,
		Args: someArgs("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, _ := cmd.Flags().GetString("out")
			to := flagValue(cmd, "to")
			if to == "" {
				return usagef("--to is missing: want one of %s", strings.Join(exportFormats(), ", "))
			}
			for _, name := range []string{"nodes", "held-out", "jobs"} {
				if to != dispatcherFormat && typed(cmd, name) {
					return usagef("--%s: is of a dispatcher: want --to %s", name, dispatcherFormat)
				}
			}
			if to != "msccl-xml" && typed(cmd, "runtime") {
				return usagef("--runtime: only MSCCL XML has dialects: want --to msccl-xml")
			}
			if out == "" {
				return usagef("--out is missing: want the folder to write to")
			}
			sms, err := maxSMsOf(cmd)
			if err == nil && sms > 0 && to == dispatcherFormat {
				err = usagef("--max-sms: a dispatcher chooses among what its map was searched for: want search --max-sms %d into another folder", sms)
			}
			if err != nil {
				return err
			}
			all, close, err := openCampaigns(cmd, args)
			defer close()
			if err != nil {
				return err
			}
			bar := newProgress(cmd.ErrOrStderr(), exportJob(len(all))...)
			defer bar.done()
			options := func(c *results.Campaign) (export.Options, error) {
				o := export.Options{To: to, Runtime: flagValue(cmd, "runtime"), Out: out, Stage: bar.onTerminal(), MaxSMs: sms}
				o.SharedGPU, _ = cmd.Flags().GetBool("shared-gpu")
				o.KeepSlower, _ = cmd.Flags().GetBool("keep-slower")
				problem, _, err := search.FromPlan(c.Plan())
				switch {
				case err == nil:
					release := search.CampaignRelease(c)
					o.Unloaded = unloaded(release, o.Runtime)
					o.Node, o.LL128 = nodeOf(problem.Topology), search.EnablesLL128(problem.Topology)
					o.Left = release.Left(func(nodes, gpus int) (*topologies.Topology, error) {
						whole := problem.Topology
						if nodes == whole.Nodes && nodes*gpus == len(whole.Ranks) {
							return whole, nil
						}
						first := make([]int, gpus)
						for i := range first {
							first[i] = i
						}
						return topologies.FromText(whole.Name, c.Plan().Topology.Text, topologies.Options{Nodes: nodes, GPUs: first})
					})
					clock, err := search.NewClock(cmd.Context(), c, memoryLimit(cmd), to == "mscclpp-json")
					if clock != nil {
						o.Clock = clock
					}
					if err != nil {
						return o, err
					}
				case to == "nccl-tuner-csv":
					o.Left = func(tuning.Scope, int64) ([]tuning.Config, error) { return nil, err }
				case to == "mscclpp-json":
					return o, err // plans depend on which ranks share a node
				}
				return o, nil
			}
			var report export.Report
			if to == dispatcherFormat {
				report, err = exportDispatcher(cmd, bar, all, out, options)
			} else if len(all) > 1 {
				report, err = export.WriteMap(all, out, options)
			} else {
				o, optionsErr := options(all[0])
				if optionsErr != nil {
					return optionsErr
				}
				report, err = export.Write(all[0], o)
			}
			bar.done()
			if errors.Is(err, export.ErrSharedGPU) {
				return usagef("%w: want --shared-gpu to export it anyway", err)
			}
			if err != nil {
				return err
			}
			for _, line := range report.Warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), line)
			}
			return printReport(cmd, report, verbose(cmd))
		},
		ValidArgsFunction: completeFolder,
	}
	choiceFlag(cmd, "to", "", "", exportFormats(), "what to write")
	choiceFlag(cmd, "runtime", "", "", msccl.Runtimes(), "the runtime whose dialect of MSCCL XML to write")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the list of files")
	cmd.Flags().String("out", "", "the folder `PATH` to write to")
	cmd.Flags().Bool("keep-slower", false, "export sizes at which the library is as fast or faster, too")
	cmd.Flags().Bool("shared-gpu", false, "export times even if ranks shared GPUs")
	maxSMsFlag(cmd, "export the fastest of the programs that take at most N SMs of a GPU (default: all)")
	dispatcherFlags(cmd)
	return cmd
}

// unloaded says that a release of RCCL, which a campaign was compared with, loads no MSCCL XML; empty
// where it does, or where the files are for another runtime.
func unloaded(r library.Release, runtime string) string {
	if runtime != "rccl" || r.Library != "rccl" || r.LoadsXML() {
		return ""
	}
	return fmt.Sprintf("%s, which the times are compared with, loads no MSCCL XML: the newest that does is %s, and search --runtime rccl compares with that", r, library.NewestXML())
}

// exportFormats are the values of --to.
func exportFormats() []string { return append(export.Formats(), dispatcherFormat) }

// printReport lists the files that were written. Under -o table it adds remarks and how
// to load the files.
func printReport(cmd *cobra.Command, r export.Report, all bool) error {
	print := r.Print
	if all {
		print = r.PrintAll
	}
	s := sheet{instead: func(w io.Writer, _ look) error { return print(w) }, columns: []column{text("file"), text("placement"), text("algorithm"), text("protocol"), number("min bytes"), number("max bytes"), number("granularity bytes"), text("ir")}}
	for _, f := range r.Files {
		s.add(f.Name, f.Placement, f.Algorithm, f.Protocol, strconv.FormatInt(f.MinBytes, 10), strconv.FormatInt(f.MaxBytes, 10), strconv.FormatInt(f.Granularity, 10), f.IR)
	}
	return writeResult(cmd, cmd.OutOrStdout(), "export", r, s)
}
