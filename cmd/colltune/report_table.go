package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/report"
	"github.com/colltune/colltune/search/libraries"
)

// mapsOf makes the page of a table of libraries: a map for each collective and kind of call,
// with a row for each number of ranks.
func mapsOf(name string, t *libraries.Table) *report.Maps {
	page := &report.Maps{
		Title: "Which library for which call: " + name,
		Notes: []string{fmt.Sprintf("Times compete where collective, ranks, bytes, %s are equal; %s may differ, and a library's fastest row counts.", strings.Join(conditionNames(t.Equal), ", "), strings.Join(conditionNames(t.Differ()), ", "))},
	}
	if simulated := slices.IndexFunc(t.Rows, func(r measured.Row) bool { return r.Simulated() }); simulated >= 0 {
		page.Notes = append(page.Notes, "Some times are a simulator's, and were measured nowhere.")
	}
	choices := t.Choices(0)
	singles := libraries.Singles(choices)
	maps := map[string]int{}
	for len(choices) > 0 {
		first := &choices[0].Best
		n := 1
		for n < len(choices) && choices[n].SameCalls(&choices[0]) {
			n++
		}
		title := kindOf(t, first)
		i, known := maps[title]
		if !known {
			i = len(page.Maps)
			maps[title] = i
			page.Maps = append(page.Maps, report.Map{Title: title})
		}
		k := 1
		for k < len(singles) && t.SameCalls(singles[k].Best, singles[0].Best) {
			k++
		}
		page.Maps[i].Rows = append(page.Maps[i].Rows, mapRow(choices[:n], singles[:k]))
		choices, singles = choices[n:], singles[k:]
	}
	return page
}

// kindOf names the calls that share a map.
func kindOf(t *libraries.Table, r *measured.Row) string {
	title := r.Collective + ofWidth(r.Width())
	for _, c := range t.Equal {
		if v := r.Conditions[c]; v != "" {
			title += fmt.Sprintf(", %s %s", c, v)
		}
	}
	return title
}

// mapRow is the calls of one number of ranks.
func mapRow(choices []libraries.Choice, singles []libraries.Region) report.MapRow {
	row := report.MapRow{Label: units.Count(choices[0].Best.Ranks, "rank")}
	for i := range choices {
		c := &choices[i]
		cell := report.MapCell{Bytes: c.Best.Bytes, Winner: c.Best.Entry(), US: c.Best.TimeUS, Near: c.Near, Note: c.Best.Conditions[measured.Kernel]}
		if c.Second != nil {
			cell.Second, cell.Ahead = c.Second.Entry(), c.Second.TimeUS/c.Best.TimeUS
		}
		row.Cells = append(row.Cells, cell)
		for _, r := range c.Entries() {
			j := slices.IndexFunc(row.Lines, func(l report.MapLine) bool { return l.Label == r.Entry() })
			if j < 0 {
				j = len(row.Lines)
				row.Lines = append(row.Lines, report.MapLine{Label: r.Entry()})
			}
			row.Lines[j].Points = append(row.Lines[j].Points, report.MapPoint{Bytes: r.Bytes, US: r.TimeUS})
		}
	}
	for _, s := range singles {
		row.Alone = append(row.Alone, report.MapAlone{Label: s.Best.Entry(), Sizes: s.Sizes, Of: s.Of, Ratio: s.Ratio})
	}
	if s := singles[0]; s.Sizes == s.Of {
		row.Mixing = s.Ratio
	}
	return row
}

// reportTable writes the page of a table of libraries.
func reportTable(cmd *cobra.Command, path string) error {
	t, err := readTable(cmd, path)
	if err != nil {
		return err
	}
	return writeOut(cmd, mapsOf(filepath.Base(path), t).Write)
}
