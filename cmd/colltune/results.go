package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

func resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results DIR…",
		Short: "Print the winning table of a campaign or a map",
		Long: `results prints the winning table of a campaign: the fastest program at each size,
the baseline, and how close the time is to the bound. Of a map's folder, or of several
campaigns that differ in their nodes alone, it prints one table. It only reads, so it also
works while a search is running.

  colltune results campaigns/dgx-a100-1x-allreduce
  colltune results campaigns/dgx-a100-1x-allreduce -o csv --out allreduce.csv`,
		Args: someArgs("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeTable(cmd, args, func(w io.Writer, all []*results.Campaign, t *table.Table) error {
				if err := checkMapWinners(all, t.Rows); err != nil {
					return err
				}
				return t.Write(w, flagValue(cmd, "format"))
			})
		},
		ValidArgsFunction: completeFolder,
	}
	otherBaselineFlag(cmd)
	outputFlags(cmd)
	return cmd
}
