package columns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
)

// Column is one column of a sheet.
type Column struct {
	Name  string // its head, with the unit
	CSV   string // its name in CSV; empty: made of Name
	Right bool   // a number: aligned right, and never folded
	Wide  bool   // printed only where it is asked for
	Close bool   // one blank before it
	Once  bool   // in text said once, above the rows that it is the same in
}

// Text is a column of words.
func Text(name string) Column { return Column{Name: name} }

// Number is a column of numbers.
func Number(name string) Column { return Column{Name: name, Right: true} }

// InWide is the column, printed only where it is asked for.
func (c Column) InWide() Column {
	c.Wide = true
	return c
}

// OnceAbove is the column, in text said once above the rows that it is the same in.
func (c Column) OnceAbove() Column {
	c.Once = true
	return c
}

// Beside is the column, with one blank before it.
func (c Column) Beside() Column {
	c.Close = true
	return c
}

// As is the column, called so in CSV.
func (c Column) As(csv string) Column {
	c.CSV = csv
	return c
}

// csvName makes a column's name fit for CSV.
var csvName = strings.NewReplacer(" ", "_", "gb/s", "gbps", "/", "_per_", "#", "")

// InCSV is the column's name in CSV: "latency us" is latency_us.
func (c Column) InCSV() string {
	if c.CSV != "" {
		return c.CSV
	}
	return csvName.Replace(strings.ToLower(c.Name))
}

// Sheet is rows of cells, one a column.
type Sheet struct {
	Columns []Column
	Rows    []Row
}

// Row is one line. Of fewer cells than columns the last runs to the end of the line.
type Row struct {
	Cells []string
	Faint bool // set back: grey, where the output can
}

// Add appends a row.
func (s *Sheet) Add(cells ...string) { s.Rows = append(s.Rows, Row{Cells: cells}) }

// Shown is the sheet without the columns that are printed only where they are asked for, and those
// that are empty in every row.
func (s *Sheet) Shown() *Sheet {
	var at []int
	for i, c := range s.Columns {
		if !c.Wide && (len(s.Rows) == 0 || !s.all(i, "")) {
			at = append(at, i)
		}
	}
	return s.at(at)
}

// Headed is the sheet without its columns of Once: what is the same in all rows is in once, a line for
// above them, and the rest in lines above the rows that it is of.
func (s *Sheet) Headed() (some *Sheet, once string) {
	var at, heads, said []int
	for i, c := range s.Columns {
		switch {
		case !c.Once || len(s.Rows) == 0:
			at = append(at, i)
		case s.all(i, s.cell(0, i)):
			said = append(said, i)
		default:
			heads = append(heads, i)
		}
	}
	words := func(row int, columns []int) string {
		var all []string
		for _, i := range columns {
			if text := s.cell(row, i); text != "" {
				all = append(all, s.Columns[i].Name+" "+text)
			}
		}
		return strings.Join(all, ", ")
	}
	if len(s.Rows) > 0 {
		once = words(0, said)
	}
	some = s.at(at)
	if len(heads) == 0 || len(at) < 2 {
		return some, once
	}
	rows, before := some.Rows, ""
	some.Rows = nil
	for i, r := range rows {
		if now := words(i, heads); now != before {
			some.Rows = append(some.Rows, Row{Cells: []string{now + ":"}})
			before = now
		}
		some.Rows = append(some.Rows, r)
	}
	return some, once
}

func (s *Sheet) cell(row, column int) string {
	if cells := s.Rows[row].Cells; column < len(cells) {
		return cells[column]
	}
	return ""
}

// all reports whether every row has that text in a column.
func (s *Sheet) all(column int, text string) bool {
	for i := range s.Rows {
		if s.cell(i, column) != text {
			return false
		}
	}
	return true
}

// Pick is the sheet with the named columns alone, in that order. A name is that of a column in
// CSV, or its head.
func (s *Sheet) Pick(names []string) (*Sheet, error) {
	var at []int
	for _, name := range names {
		is := func(c Column) bool { return strings.EqualFold(name, c.InCSV()) || strings.EqualFold(name, c.Name) }
		i := slices.IndexFunc(s.Columns, is)
		if i < 0 {
			all := lists.Map(s.Columns, Column.InCSV)
			return nil, fmt.Errorf("no column %q%s: want some of %s", name, suggest.DidYouMean(name, all), strings.Join(all, ", "))
		}
		at = append(at, i)
	}
	return s.at(at), nil
}

// at is the sheet with the columns at the positions alone.
func (s *Sheet) at(positions []int) *Sheet {
	some := &Sheet{Columns: lists.Map(positions, func(i int) Column { return s.Columns[i] })}
	for _, r := range s.Rows {
		line := Row{Faint: r.Faint}
		for _, i := range positions {
			if i < len(r.Cells) {
				line.Cells = append(line.Cells, r.Cells[i])
			}
		}
		some.Rows = append(some.Rows, line)
	}
	return some
}
