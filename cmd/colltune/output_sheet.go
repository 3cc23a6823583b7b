package main

import (
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
)

// sheet is a result as rows of text, one cell a column. Headers give the units.
type sheet struct {
	columns []column
	rows    [][]string
	notes   []string              // printed before the rows, a line each
	human   func(io.Writer) error // its text under -o table, if that is not the rows alone
}

type column struct {
	name  string
	right bool   // align right: a number
	csv   string // its name in CSV; empty: made of name
}

func text(name string) column { return column{name: name} }

func number(name string) column { return column{name: name, right: true} }

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// header returns the columns' names.
func (s *sheet) header() []string {
	return lists.Map(s.columns, func(c column) string { return c.name })
}

// csvName makes a column's name fit for CSV.
var csvName = strings.NewReplacer(" ", "_", "gb/s", "gbps", "/", "_per_", "#", "")

// writeCSV writes a header and the rows. Notes are a last column.
func (s *sheet) writeCSV(w io.Writer) error {
	names := s.header()
	for i, n := range names {
		if names[i] = s.columns[i].csv; names[i] == "" {
			names[i] = csvName.Replace(strings.ToLower(n)) // "latency us" becomes latency_us
		}
	}
	rows := s.rows
	if len(s.notes) > 0 { // most readers would take a comment for a row
		names, rows = append(names, "note"), nil
		for _, r := range s.rows {
			rows = append(rows, append(slices.Clone(r), strings.Join(s.notes, "; ")))
		}
	}
	c := csv.NewWriter(w)
	if err := c.Write(names); err != nil {
		return err
	}
	for _, r := range rows {
		if err := c.Write(safe.CSVRow(r)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// writeMarkdown writes the notes as a paragraph and the rows as a table.
func (s *sheet) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + safe.Markdown(c) + " |")
		}
		b.WriteString("\n")
	}
	if len(s.notes) > 0 {
		b.WriteString(safe.Markdown(strings.Join(s.notes, ". ")+".") + "\n\n")
	}
	line(s.header())
	b.WriteString("|")
	for _, c := range s.columns {
		if c.right {
			b.WriteString("---:|")
		} else {
			b.WriteString("---|")
		}
	}
	b.WriteString("\n")
	for _, r := range s.rows {
		line(r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable writes the notes and the rows in aligned columns.
func (s *sheet) writeTable(w io.Writer) error {
	width := make([]int, len(s.columns))
	all := [][]string{s.header()}
	for _, r := range s.rows {
		line := make([]string, len(r))
		for i, c := range r {
			line[i] = safe.Line(c)
		}
		all = append(all, line)
	}
	for _, r := range all {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, note := range s.notes {
		b.WriteString(safe.Line(note) + "\n")
	}
	for _, r := range all {
		var l strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i > 0 {
				l.WriteString("  ")
			}
			if s.columns[i].right {
				l.WriteString(pad + c)
			} else {
				l.WriteString(c + pad)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
