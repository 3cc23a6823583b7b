package columns

import (
	"encoding/csv"
	"io"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
)

// CSV writes a header and the rows.
func (s *Sheet) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(lists.Map(s.Columns, Column.InCSV)); err != nil {
		return err
	}
	for _, r := range s.Rows {
		if err := c.Write(safe.CSVRow(r.Cells)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// Markdown writes a table.
func (s *Sheet) Markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(lists.Map(s.Columns, func(c Column) string { return safe.Markdown(c.Name) }))
	line(lists.Map(s.Columns, func(c Column) string {
		if c.Right {
			return "--:"
		}
		return ":--"
	}))
	for _, r := range s.Rows {
		line(lists.Map(r.Cells, safe.Markdown))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
