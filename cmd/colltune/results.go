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
works while a search is running. --front prints, in the table's place, how long each size takes
with 4, 8, 16, 24, 32 SMs of a GPU and with all, and what is fastest there.

  colltune results campaigns/dgx-a100-1x-allreduce
  colltune results campaigns/dgx-a100-1x-allreduce -o csv --out allreduce.csv`,
		Args: someArgs("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			front, _ := cmd.Flags().GetBool("front")
			return writeTable(cmd, args, front, func(w io.Writer, all []*results.Campaign, t *table.Table) error {
				if err := checkMapWinners(all, t.Rows); err != nil {
					return err
				}
				if front {
					return writeFront(cmd, w, t)
				}
				return t.Write(w, flagValue(cmd, "format"), tableLook(cmd, all))
			})
		},
		ValidArgsFunction: completeFolder,
	}
	otherBaselineFlag(cmd)
	maxSMsFlag(cmd, "the fastest of the programs that take at most N SMs of a GPU (default: all)")
	cmd.Flags().Bool("front", false, "print the front of time against SMs, in the table's place")
	outputFlags(cmd)
	return cmd
}
