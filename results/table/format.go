package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/columns"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
)

// format is a row of the table of output formats.
type format struct {
	name  string
	write func(*Table, io.Writer, Look) error
}

// formats is the table of output formats; the first row is the default.
var formats = []format{
	{"table", (*Table).writeText},
	{"json", (*Table).writeJSON},
	{"csv", (*Table).writeCSV},
	{"md", (*Table).writeMarkdown},
}

// Formats lists the formats that Write knows, the default first.
func Formats() []string {
	return lists.Map(formats, func(f format) string { return f.name })
}

// Look is how a table is printed.
type Look struct {
	Columns []string            // the columns, by their names in CSV, of each size; nil: those by default
	Wide    bool                // all columns, of each size
	Why     func(r *Row) string // why a winner takes its time, in a clause; nil: not said
}

// Write prints the table in one of Formats. The error is about an unknown format or column, or
// that of writing.
func (t *Table) Write(w io.Writer, name string, l Look) error {
	for _, f := range formats {
		if f.name == name {
			return f.write(t, w, l)
		}
	}
	return fmt.Errorf("unknown format %q: want one of %s", name, strings.Join(Formats(), ", "))
}

// CheckColumns returns an error about names that no table has.
func CheckColumns(names []string) error {
	all := Table{Rows: []Row{{Repeats: &Repeats{}, Outlook: &Outlook{}}}}
	_, err := all.sheet(false).Pick(names)
	return err
}

func (t *Table) writeJSON(w io.Writer, _ Look) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(t); err != nil {
		return err
	}
	_, err := w.Write(safe.JSON(b.Bytes()))
	return err
}

// placements reports whether the table has rows of more than one placement.
func (t *Table) placements() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Placement != t.Rows[0].Placement })
}

// sheet is every size and every column: in numbers for programs, or for people.
func (t *Table) sheet(exact bool) *columns.Sheet {
	s := &columns.Sheet{}
	all := t.columns()
	for _, c := range all {
		name := c.short
		if name == "" {
			name = c.head
		}
		s.Columns = append(s.Columns, columns.Column{Name: name, CSV: c.head, Right: !c.text})
	}
	for i := range t.Rows {
		s.Rows = append(s.Rows, columns.Row{Faint: t.Rows[i].bare(), Cells: lists.Map(all, func(c column) string {
			if exact || c.brief == nil {
				return c.exact(&t.Rows[i])
			}
			return c.brief(&t.Rows[i])
		})})
	}
	return s
}

// wide is the columns that have a short name and are not empty in every row.
func (t *Table) wide() *columns.Sheet {
	s := t.sheet(false)
	for i, c := range t.columns() {
		s.Columns[i].Wide = c.short == "" && !(c.head == "placement" && t.placements()) && !(c.head == "nodes" && t.severalNodes())
	}
	return s.Shown()
}

// shown is what the look asks for.
func (t *Table) shown(l Look, oneLine bool) (*columns.Sheet, error) {
	switch {
	case l.Columns != nil:
		return t.sheet(false).Pick(l.Columns)
	case l.Wide:
		return t.wide(), nil
	}
	return t.digest(l, oneLine), nil
}

// width is how many characters a line has at most; 0: any number.
func (l Look) width() int {
	if l.Wide || l.Columns != nil {
		return 0
	}
	return columns.Width
}

func (t *Table) writeText(w io.Writer, l Look) error {
	s, err := t.shown(l, false)
	if err != nil {
		return err
	}
	say := func(lines []string) (err error) {
		for _, line := range lines {
			for _, part := range columns.Fold(safe.Line(line), l.width(), "  ") {
				if err == nil {
					err = columns.PrintLine(w, part, false)
				}
			}
		}
		return err
	}
	if err := say(t.caption(l)); err != nil {
		return err
	}
	if len(t.Rows) > 0 {
		if err := s.Print(w, l.width()); err != nil {
			return err
		}
	}
	return say(t.footer(l))
}

func (t *Table) writeMarkdown(w io.Writer, l Look) error {
	s, err := t.shown(l, true)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for i, line := range t.caption(l) {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, safe.Markdown(strings.TrimSuffix(line, ".")+"."))
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(out)
		if err := s.Markdown(out); err != nil {
			return err
		}
	}
	if lines := t.footer(l); len(lines) > 0 {
		fmt.Fprintf(out, "\n%s.\n", safe.Markdown(strings.Join(lines, ". ")))
	}
	return out.Flush()
}

func (t *Table) writeCSV(w io.Writer, l Look) error {
	s := t.sheet(true)
	if l.Columns != nil {
		some, err := s.Pick(l.Columns)
		if err != nil {
			return err
		}
		s = some
	}
	return s.CSV(w)
}
