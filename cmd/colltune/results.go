package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

func resultsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "results DIR",
		Short: "Print the winning table of a campaign",
		Long: `results prints the winning table of a campaign: the fastest program at each size,
what it is compared with, and how close it is to the bound. It only reads, so it also
works while a search is running.

  colltune results campaigns/dgx-a100-1x-allreduce
  colltune results campaigns/dgx-a100-1x-allreduce -o csv --out allreduce.csv`,
		Args: exactly("the campaign's folder DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return deliverTable(cmd, args[0], func(w io.Writer, c *results.Campaign, t *table.Table) error {
				if err := checkPrograms(c, t.Rows); err != nil {
					return err
				}
				return t.Write(w, flagValue(cmd, "format"))
			})
		},
		ValidArgsFunction: firstIs(completeFolder),
	}
	cmd.Flags().String("baseline", "", "compare with this `FILE` of nccl-tests' output instead of the campaign's baseline")
	outputFlags(cmd)
	return cmd
}

// deliverTable writes something made of a campaign and its table, with the
// baseline of --baseline if that is given.
func deliverTable(cmd *cobra.Command, dir string, write func(io.Writer, *results.Campaign, *table.Table) error) error {
	c, err := openCampaign(cmd, results.OpenReadOnly, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	baseline, err := baselineOf(cmd)
	if err != nil {
		return err
	}
	t, err := tableOf(c, baseline)
	if err != nil {
		return err
	}
	return deliver(cmd, func(w io.Writer) error { return write(w, c, t) })
}

// openCampaign opens a folder that a user named, and says what is to be known of its
// journal.
func openCampaign(cmd *cobra.Command, open func(string) (*results.Campaign, error), dir string) (*results.Campaign, error) {
	c, err := open(dir)
	var locked *results.LockedError
	if err != nil && !errors.As(err, &locked) && !readOnly(err) {
		err = usage(err) // there is none, or it is damaged
	}
	if err == nil {
		printRemarks(cmd, c)
	}
	return c, err
}

// printRemarks prints what is to be known of a campaign's journal.
func printRemarks(cmd *cobra.Command, c *results.Campaign) {
	for _, line := range c.Remarks() {
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
}

// readOnly tells whether an error is that a place can't be written, or a file
// can't be read.
func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// printTable prints the winning table of what a campaign has measured so far.
func printTable(cmd *cobra.Command, c *results.Campaign, schema string) error {
	t, err := table.Build(c)
	if err != nil {
		return err
	}
	t.Schema = "colltune." + schema + "/v1"
	return deliver(cmd, func(w io.Writer) error { return t.Write(w, flagValue(cmd, "format")) })
}

// tableOf is a campaign's winning table, with another baseline if one is given.
func tableOf(c *results.Campaign, baseline *search.BaselineFile) (*table.Table, error) {
	t, err := table.Build(c)
	if err != nil || baseline == nil {
		return t, err
	}
	p, _, err := search.FromPlan(c.Plan())
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", c.Dir(), err))
	}
	measured, err := baseline.Measured(&p)
	if err != nil {
		return nil, usage(err)
	}
	t.Compare(measured.Baseline)
	return t, nil
}

// baselineFlag adds --baseline to a search.
func baselineFlag(cmd *cobra.Command) {
	cmd.Flags().String("baseline", "nccl", "what the winner is compared with: nccl (what NCCL's cost model would choose), or a `FILE` of nccl-tests' output")
}

// maxBaseline is larger than any table of times.
const maxBaseline = 64 << 20

// baselineOf reads the file that --baseline names; nil if it is not given.
func baselineOf(cmd *cobra.Command) (*search.BaselineFile, error) {
	path := flagValue(cmd, "baseline")
	if path == "" || path == "nccl" {
		return nil, nil
	}
	text, err := readFile(cmd.Context(), path, maxBaseline)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--baseline %w%s: want nccl, or a file of nccl-tests' output", err, script.DidYouMean(path, []string{"nccl"}))
	}
	if err != nil {
		return nil, err
	}
	return &search.BaselineFile{Name: filepath.Base(path), Text: strings.ToValidUTF8(string(text), "\uFFFD")}, nil
}

// completeFolder completes the names of folders.
func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
