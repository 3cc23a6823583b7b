package main

import (
	"errors"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/results"
)

func resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results DIR",
		Short: "Print the winning table of a campaign",
		Args:  exactly("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := openCampaign(results.OpenReadOnly, args[0])
			if err != nil {
				return err
			}
			defer c.Close()
			return printTable(cmd, c, "results")
		},
		ValidArgsFunction: firstIs(completeFolder),
	}
	outputFlags(cmd)
	return cmd
}

// openCampaign opens a folder that a user named.
func openCampaign(open func(string) (*results.Campaign, error), dir string) (*results.Campaign, error) {
	c, err := open(dir)
	var locked *results.LockedError
	if err != nil && !errors.As(err, &locked) && !errors.Is(err, fs.ErrPermission) {
		err = usage(err) // there is none, or it can't be read as one
	}
	return c, err
}

// printTable prints a campaign's winning table as far as it has come.
func printTable(cmd *cobra.Command, c *results.Campaign, schema string) error {
	t, err := results.Build(c)
	if err != nil {
		return err
	}
	t.Schema = "colltune." + schema + "/v1"
	return deliver(cmd, func(w io.Writer) error { return t.Write(w, flagValue(cmd, "format")) })
}

// completeFolder completes the names of folders.
func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
