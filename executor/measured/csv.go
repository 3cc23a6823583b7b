package measured

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
)

// readCSV reads a file whose first line names its columns. Lines that begin with # are
// comments.
func (r *reader) readCSV(text []byte) error {
	c := csv.NewReader(bytes.NewReader(text))
	c.Comment, c.ReuseRecord, c.TrimLeadingSpace = '#', true, true
	names, err := c.Read()
	if err != nil {
		return r.csvError(err, "want a line that names the columns, such as collective,ranks,bytes,time_us")
	}
	line, _ := c.FieldPos(0)
	used, err := r.header(names, line)
	if err != nil {
		return err
	}
	var row Row
	for {
		fields, err := c.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return r.csvError(err, "")
		}
		line, _ := c.FieldPos(0)
		row = Row{}
		for i, v := range fields {
			if strings.TrimSpace(v) == "" {
				continue // not stated
			}
			if err := used[i].set(&row, v); err != nil {
				return r.errorf(line, "column %s: %v", used[i].name, err)
			}
		}
		if slices.ContainsFunc(used, func(c *column) bool { return c.name == "count" }) {
			size := collective.MeasuredBytes(row.Conditions[DType])
			if size == 0 {
				return r.errorf(line, "count is in elements: want a dtype in the row")
			}
			if row.Bytes, err = units.Product(row.Bytes, size); err != nil {
				return r.errorf(line, "column count: %v", err)
			}
		}
		if err := r.add(row, line); err != nil {
			return err
		}
	}
}

// header returns the columns that the names stand for.
func (r *reader) header(names []string, line int) (used []*column, err error) {
	for _, name := range names {
		c, err := columnOf(name)
		if err != nil {
			return nil, r.errorf(line, "%v", err)
		}
		if slices.Contains(used, c) {
			return nil, r.errorf(line, "column %s stands there twice", c.name)
		}
		used = append(used, c)
	}
	for _, unit := range [][]string{{"bytes", "count"}, {"time_us", "time_ms", "time_s"}} {
		n := 0
		for _, c := range used {
			if slices.Contains(unit, c.name) {
				n++
			}
		}
		if n != 1 {
			return nil, r.errorf(line, "%d of the columns %s: want one of them, which states the unit", n, strings.Join(unit, ", "))
		}
	}
	return used, nil
}

// csvError gives an error of encoding/csv the file's name.
func (r *reader) csvError(err error, otherwise string) error {
	var at *csv.ParseError
	switch {
	case errors.As(err, &at) && errors.Is(at.Err, csv.ErrFieldCount):
		return r.errorf(at.Line, "another number of fields than the first line names: the line is torn, or has a comma too many")
	case errors.As(err, &at):
		return r.errorf(at.Line, "%v", at.Err)
	}
	return r.errorf(1, "%s", otherwise)
}
