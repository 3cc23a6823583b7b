package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/columns"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// sheet is a result as rows of text, one cell a column. Headers give the units.
type sheet struct {
	columns []column
	rows    [][]string
	notes   []string // printed before the rows, a line each
	// Under -o table, lines around the rows, or in place of rows and notes the text that
	// instead writes.
	above, below []string
	instead      func(io.Writer, look) error
}

type column = columns.Column

func text(name string) column { return columns.Text(name) }

func number(name string) column { return columns.Number(name) }

// header returns the columns' names.
func (s *sheet) header() []string {
	return lists.Map(s.columns, func(c column) string { return c.Name })
}

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// all is the sheet with every column.
func (s *sheet) all() *columns.Sheet {
	return &columns.Sheet{Columns: s.columns, Rows: lists.Map(s.rows, func(cells []string) columns.Row { return columns.Row{Cells: cells} })}
}

// look is what --columns and --wide say.
type look struct {
	names []string // of --columns; nil: not given
	wide  bool
}

// columnFlags adds --columns and --wide.
func columnFlags(cmd *cobra.Command) {
	cmd.Flags().StringSlice("columns", nil, "print only these columns: `NAMES`, separated by commas, as -o csv has them")
	cmd.Flags().Bool("wide", false, "print all columns, however wide the table becomes")
}

func lookOf(cmd *cobra.Command) (l look) {
	l.wide, _ = cmd.Flags().GetBool("wide")
	if isSet(cmd, "columns") {
		l.names, _ = cmd.Flags().GetStringSlice("columns")
	}
	return l
}

// checkLook refuses --columns where it would be ignored, before any work is done.
func checkLook(cmd *cobra.Command) error {
	if !isSet(cmd, "columns") {
		return nil
	}
	l := lookOf(cmd)
	switch {
	case len(l.names) == 0:
		return usagef("--columns: want names of columns, separated by commas")
	case l.wide:
		return usagef("--columns and --wide: want one of them")
	case !slices.Contains([]string{"table", "csv", "md"}, flagValue(cmd, "format")):
		return usagef("--columns: only tables have columns: want -o table, csv or md")
	case slices.Contains([]string{"search", "resume", "results"}, cmd.Name()) && !given(cmd, "front"): // which has others
		if err := table.CheckColumns(l.names); err != nil {
			return usagef("--columns: %w", err)
		}
	}
	return nil
}

// tableLook is the look of a winning table of campaigns.
func tableLook(cmd *cobra.Command, all []*results.Campaign) table.Look {
	l := lookOf(cmd)
	return table.Look{Columns: l.names, Wide: l.wide, Why: whyOf(cmd.Context(), all)}
}

// width is how many characters a line of text has at most; 0: any number.
func (l look) width() int {
	if l.wide || l.names != nil {
		return 0
	}
	return columns.Width
}

// of is the sheet with the columns that the flags ask for, or those by default.
func (l look) of(s *columns.Sheet) (*columns.Sheet, error) {
	switch {
	case l.names != nil:
		some, err := s.Pick(l.names)
		if err != nil {
			return nil, usagef("--columns: %w", err)
		}
		return some, nil
	case l.wide:
		return s, nil
	}
	return s.Shown(), nil
}

// writeCSV writes a header and the rows. Notes are a last column.
func (s *sheet) writeCSV(w io.Writer, l look) error {
	all := s.all()
	if len(s.notes) > 0 { // most readers would take a comment for a row
		all.Columns = append(slices.Clone(all.Columns), text("note"))
		for i, r := range all.Rows {
			all.Rows[i].Cells = append(slices.Clone(r.Cells), strings.Join(s.notes, "; "))
		}
	}
	if l.names == nil {
		return all.CSV(w)
	}
	some, err := l.of(all)
	if err != nil {
		return err
	}
	return some.CSV(w)
}

// writeMarkdown writes the notes as a paragraph and the rows as a table.
func (s *sheet) writeMarkdown(w io.Writer, l look) error {
	some, err := l.of(s.all())
	if err != nil {
		return err
	}
	if len(s.notes) > 0 {
		if _, err := io.WriteString(w, safe.Markdown(strings.Join(s.notes, ". ")+".")+"\n\n"); err != nil {
			return err
		}
	}
	return some.Markdown(w)
}

// writeTable writes the notes and the rows in aligned columns, and the lines around them.
func (s *sheet) writeTable(w io.Writer, l look) error {
	if s.instead != nil {
		return s.instead(w, l)
	}
	return s.writeRows(w, l)
}

// writeRows is writeTable of the rows, and of what stands around them.
func (s *sheet) writeRows(w io.Writer, l look) error {
	some, err := l.of(s.all())
	if err != nil {
		return err
	}
	lines := slices.Concat(s.above, s.notes)
	if l.names == nil && !l.wide {
		once := ""
		if some, once = some.Headed(); once != "" {
			lines = append(lines, once)
		}
	}
	if err := writeLines(w, l.width(), lines); err != nil {
		return err
	}
	if err := some.Print(w, l.width()); err != nil {
		return err
	}
	return writeLines(w, l.width(), s.below)
}

// writeLines writes lines of a result, each folded to the width. 0: none is.
func writeLines(w io.Writer, width int, lines []string) error {
	for _, line := range lines {
		for _, part := range columns.Fold(safe.Line(line), width, "  ") {
			if err := columns.PrintLine(w, part, false); err != nil {
				return err
			}
		}
	}
	return nil
}
