package libraries

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// Schema names the form of a table's file, in its first line. The file is CSV as Read takes
// it, so that a table is a source of others.
const Schema = "colltune.table/v1"

var (
	schemaLine = lazyregexp.New(`^# (colltune\.table/\S+)`)
	equalLine  = lazyregexp.New(`(?m)^# must be equal: (.*)$`)
)

// Write writes the table. version is that of the colltune that writes it.
func (t *Table) Write(w io.Writer, version string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n# written by colltune %s\n# must be equal: %s\n# may differ: %s\n", Schema, version, list(t.Equal), list(t.Differ()))
	fmt.Fprintln(b, "# rows of one collective, ranks and bytes compete; of collectives that reduce, also of one width of elements")
	c := csv.NewWriter(b)
	if err := c.Write(measured.Header()); err != nil {
		return err
	}
	for i := range t.Rows {
		if err := c.Write(t.Rows[i].Fields()); err != nil {
			return err
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return err
	}
	return b.Flush()
}

// list prints conditions as the head of a file has them.
func list(all []measured.Condition) string {
	var names []string
	for _, c := range all {
		names = append(names, c.String())
	}
	return strings.Join(names, ", ")
}

// ReadTable reads what Write wrote. Errors are an *Error.
func ReadTable(name string, text []byte) (*Table, error) {
	fail := func(line int, format string, args ...any) (*Table, error) {
		return nil, &measured.Error{File: name, Line: line, Msg: fmt.Sprintf(format, args...)}
	}
	head := schemaLine().FindSubmatch(text)
	switch {
	case head == nil:
		return fail(1, "want a table of colltune table build, whose first line is # %s", Schema)
	case string(head[1]) != Schema:
		return fail(1, "is of %s: want %s, or a newer colltune", head[1], Schema)
	}
	equal := equalLine().FindSubmatchIndex(text)
	if equal == nil {
		return fail(1, "has no line # must be equal")
	}
	var names []string
	for _, name := range strings.Split(string(text[equal[2]:equal[3]]), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	conditions, err := measured.ParseConditions(names)
	if err != nil {
		return fail(1+bytes.Count(text[:equal[0]], []byte("\n")), "%v", err)
	}
	rows, _, err := measured.Read(measured.Source{Path: name}, text)
	if err != nil {
		return nil, err
	}
	t, _ := Build(rows, conditions)
	return t, nil
}
