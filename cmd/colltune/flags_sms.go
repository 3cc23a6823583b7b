package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// maxSMsFlag adds --max-sms.
func maxSMsFlag(cmd *cobra.Command, usage string) { cmd.Flags().Int("max-sms", 0, usage) }

// maxSMsOf is the number of --max-sms; 0: not given.
func maxSMsOf(cmd *cobra.Command) (int, error) {
	n, _ := cmd.Flags().GetInt("max-sms")
	if n < 0 || n == 0 && isSet(cmd, "max-sms") {
		return 0, usagef("--max-sms %d: want at least 1; leave it out for all of a GPU", n)
	}
	return n, nil
}

// checkFits returns an error if programs were measured, of which none takes as few SMs as asked.
func checkFits(all []*results.Campaign, t *table.Table, sms int) error {
	least := 0
	for _, c := range all {
		if n := table.LeastSMs(c.Trials()); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if sms == 0 || len(t.Rows) > 0 || least == 0 {
		return nil
	}
	return &nothingError{fmt.Errorf("--max-sms %d: of the programs measured, the smallest takes %s", sms, units.Count(least, "SM"))}
}
