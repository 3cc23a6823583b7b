package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/results/table"
)

func reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report DIR…|TABLE --out FILE.html",
		Short: "Write a campaign, a map, or a table of libraries, as one page",
		Long: `report writes one self-contained HTML page on a campaign: the system, the winner and
its speedup at every size, all algorithms, the winners' routings, where simulated
time goes, and which candidates were refused or failed, and why. Of a map's folder, or of
several campaigns that differ in their nodes alone, it has a map of who wins over sizes and
nodes, and by how much. Of a table of libraries
the page has maps of who is the fastest over sizes and ranks, bandwidth curves, and what
choosing at each size saves. It needs no network and no script.

  colltune report campaigns/dgx-a100-1x-allreduce --out allreduce.html
  colltune report times.table --out libraries.html`,
		Args: someArgs("the campaign's folder DIR, or the file TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flagValue(cmd, "out") == "" {
				return usagef("--out is missing: want the file to write to, such as report.html")
			}
			if file, err := os.Stat(args[0]); err == nil && !file.IsDir() {
				for _, name := range []string{"baseline", "max-sms"} {
					if isSet(cmd, name) {
						return usagef("--%s is of a campaign: %s is no folder", name, args[0])
					}
				}
				if len(args) > 1 {
					return usagef("%s is no folder: want one table, or campaigns", args[0])
				}
				return reportTable(cmd, args[0])
			}
			bar := newProgress(cmd.ErrOrStderr())
			defer bar.done()
			stage := bar.onTerminal()
			if stage != nil {
				stage("reading", 0, 1)
			}
			var lost error // of winners' programs
			err := writeTable(cmd, args, true, func(w io.Writer, all []*results.Campaign, t *table.Table) error {
				if len(all) > 1 {
					lost = checkMapWinners(all, t.Rows)
					return mapOf(all, t).Write(w)
				}
				c := all[0]
				explain, done := winnersExplained(cmd.Context(), c, onPage, len(t.Ranges), stage)
				defer done()
				err := report.Write(w, c, t, explain)
				lost = checkWinners(c, t.Rows) // afterwards, in case a program is lost meanwhile
				return err
			})
			if err == nil && lost != nil {
				err = fmt.Errorf("%s is written, without the details of some winners: %w", flagValue(cmd, "out"), lost)
			}
			return err
		},
		ValidArgsFunction: completeFolder,
	}
	otherBaselineFlag(cmd)
	maxSMsFlag(cmd, "the fastest of the programs that take at most N SMs of a GPU (default: all)")
	cmd.Flags().String("out", "", "write the page to `FILE`")
	return cmd
}
