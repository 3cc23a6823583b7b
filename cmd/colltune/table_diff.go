package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/libraries"
)

func tableDiffCommand() *cobra.Command {
	tolerance := percent{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two tables library by library",
		Long: `diff prints what each library took in two tables, call by call, and the ratio of the
times: of another version or driver. Of each table, the fastest version counts.

Exit code 1 if a library is slower somewhere, or gone. Times within --tolerance, and
times whose intervals overlap, count as the same.

  colltune table diff times.table times.table --tolerance 3%`,
		Args: exactArgs("the file OLD", "the file NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var tables [2]*libraries.Table
			for i, path := range args {
				var err error
				if tables[i], err = readTable(cmd, path); err != nil {
					return err
				}
			}
			if !libraries.SameConditions(tables[0], tables[1]) {
				return usagef("%s and %s: want tables with the same conditions that must be equal: build them with the same --equal", args[0], args[1])
			}
			d := tableDifferences(tables[0], tables[1], tolerance.share)
			if err := printResult(cmd, "table-diff", d, tableDiffSheet(d, flagValue(cmd, "format") == "csv")); err != nil {
				return err
			}
			return d.regression()
		},
	}
	cmd.Flags().Var(&tolerance, "tolerance", "a library is slower only by more than this `PERCENT`, such as 3% (default: 0)")
	outputFlags(cmd)
	return cmd
}

// tableDiffDocument is two tables side by side, in JSON.
type tableDiffDocument struct {
	Rows   []tableDiffRow `json:"rows"`
	Counts map[string]int `json:"counts"`
	Ratio  *float64       `json:"ratio"` // geometric mean over the calls that both have; null: there are none
}

// tableDiffRow is one library at one call.
type tableDiffRow struct {
	callRow
	Width   int64           `json:"element_bytes"` // where they are reduced; else 0
	Bytes   int64           `json:"bytes"`
	Library string          `json:"library"`
	Verdict string          `json:"verdict"`
	Before  *tableDiffState `json:"before"` // null where it is not there
	After   *tableDiffState `json:"after"`
	Ratio   *float64        `json:"ratio"` // time after ÷ before
}

type tableDiffState struct {
	Version    string     `json:"version"`
	Kernel     string     `json:"kernel"`
	TimeUS     float64    `json:"time_us"`
	IntervalUS [2]float64 `json:"interval_us"`
	Source     string     `json:"source"`
}

func tableDifferences(before, after *libraries.Table, tolerance float64) *tableDiffDocument {
	d := &tableDiffDocument{Rows: []tableDiffRow{}, Counts: map[string]int{}}
	for _, v := range table.Verdicts {
		d.Counts[v] = 0
	}
	state := func(r *measured.Row) *tableDiffState {
		if r == nil {
			return nil
		}
		return &tableDiffState{r.Version, r.Conditions[measured.Kernel], r.TimeUS, intervalOf(r), r.Source}
	}
	changes := libraries.Diff(before, after, tolerance)
	for i := range changes {
		c := &changes[i]
		r := c.Row()
		row := tableDiffRow{callRowOf(r, r.Conditions), r.Width(), r.Bytes, r.Library, c.Verdict, state(c.Before), state(c.After), nil}
		if c.Ratio > 0 {
			row.Ratio = &c.Ratio
		}
		d.Rows = append(d.Rows, row)
		d.Counts[c.Verdict]++
	}
	if mean := libraries.MeanRatio(changes); mean > 0 {
		d.Ratio = &mean
	}
	return d
}

// regression is the error of a table in which something is slower, or gone.
func (d *tableDiffDocument) regression() error {
	var why []string
	if n := d.Counts[table.Slower]; n > 0 {
		why = append(why, "slower at "+units.Count(n, "call"))
	}
	if n := d.Counts[table.Gone]; n > 0 {
		why = append(why, "no time any more at "+units.Count(n, "call"))
	}
	if len(why) == 0 {
		return nil
	}
	return errors.New(strings.Join(why, "; "))
}

// tableDiffSheet has a line for each library at each call.
func tableDiffSheet(d *tableDiffDocument, inCSV bool) sheet {
	s := sheet{columns: []column{text("collective").OnceAbove(), number("ranks").OnceAbove(), number("element bytes").OnceAbove(), number("bytes"), text("library"), text("verdict"),
		text("before"), number("us").As("us_before"), text("after"), number("us").As("us_after"), number("change %").As("change_percent")}}
	for _, r := range d.Rows {
		line := []string{r.Collective, strconv.Itoa(r.Ranks), widthText(r.Width), strconv.FormatInt(r.Bytes, 10), r.Library, r.Verdict}
		if !inCSV {
			line[5] = verdictText(r.Verdict)
		}
		for _, x := range []*tableDiffState{r.Before, r.After} {
			if x == nil {
				line = append(line, "", "")
				continue
			}
			line = append(line, x.Version, fixed(x.TimeUS))
		}
		change := ""
		if r.Ratio != nil {
			change = signedPercent(*r.Ratio)
		}
		s.add(append(line, change)...)
	}
	return withTally(s, d.Counts, d.Ratio)
}
