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

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

// checkWinners returns an error that names each winner's program that is lost or was
// changed, or does not agree with the campaign's plan and trials.
func checkWinners(c *results.Campaign, rows []table.Row) (err error) {
	seen := map[string]bool{"": true} // native algorithms have none
	for _, r := range rows {
		if !seen[r.IR] {
			seen[r.IR] = true
			_, lost := c.Program(r.IR)
			err = errors.Join(err, lost)
		}
	}
	return err
}

// openCampaign opens a folder that a user named, and says what is to be known of its
// journal.
func openCampaign(cmd *cobra.Command, open func(string) (*results.Campaign, error), dir string) (*results.Campaign, error) {
	c, err := open(dir)
	var locked *results.LockedError
	if err != nil && !errors.As(err, &locked) && !accessDenied(err) {
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

// accessDenied tells whether an error is that a place can't be written, or a file
// can't be read.
func accessDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// writeTable writes something made of a campaign and its table, with the
// baseline of --baseline if that is given.
func writeTable(cmd *cobra.Command, dir string, write func(io.Writer, *results.Campaign, *table.Table) error) error {
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
	return writeOut(cmd, func(w io.Writer) error { return write(w, c, t) })
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

// printTable prints the winning table of what a campaign has measured so far.
func printTable(cmd *cobra.Command, c *results.Campaign, schema string) error {
	t, err := table.Build(c)
	if err != nil {
		return err
	}
	t.Schema = "colltune." + schema + "/v1"
	return writeOut(cmd, func(w io.Writer) error { return t.Write(w, flagValue(cmd, "format")) })
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
		return nil, usagef("--baseline %w%s: want nccl, or a file of nccl-tests' output", err, suggest.DidYouMean(path, []string{"nccl"}))
	}
	if err != nil {
		return nil, err
	}
	return &search.BaselineFile{Name: filepath.Base(path), Text: strings.ToValidUTF8(string(text), "\uFFFD")}, nil
}
