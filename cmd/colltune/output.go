package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results/table"
)

// formats are the forms in which results are printed, as the winning table is.
var formats = table.Formats()

// sheet is a result as rows of text. The headers have units.
type sheet struct {
	columns []column
	rows    [][]string
	notes   []string              // what to know before the figures, a line each
	plain   func(io.Writer) error // its form for people, if that is not a table
}

type column struct {
	name  string
	right bool   // numbers
	csv   string // its name in CSV, if it is another there
}

// text and number make a column.
func text(name string) column   { return column{name: name} }
func number(name string) column { return column{name: name, right: true} }

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// outputFlags adds -o and --out.
func outputFlags(cmd *cobra.Command) {
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	cmd.Flags().String("out", "", "write the result to `FILE` instead of standard output")
}

// emit prints a result in the format that -o asks for. document is its JSON form,
// to which the schema's name and version are added.
func emit(cmd *cobra.Command, schema string, document any, s sheet) error {
	return deliver(cmd, func(w io.Writer) error { return present(cmd, w, schema, document, s) })
}

// present writes a result in the format asked for.
func present(cmd *cobra.Command, w io.Writer, schema string, document any, s sheet) error {
	switch flagValue(cmd, "format") {
	case "json":
		return writeJSON(w, schema, document)
	case "csv":
		return s.writeCSV(w)
	case "md":
		return s.writeMarkdown(w)
	}
	if s.plain != nil {
		return s.plain(w)
	}
	return s.writeTable(w)
}

// deliver writes a result to standard output, or to --out in one piece.
func deliver(cmd *cobra.Command, write func(io.Writer) error) error {
	path, _ := cmd.Flags().GetString("out")
	if path == "" {
		return write(cmd.OutOrStdout())
	}
	return writeTo(path, func(w io.Writer) error {
		printed := safe.NewWriter(w)
		return errors.Join(write(printed), printed.Close())
	})
}

// writeTo writes the file that --out names. A new or regular file is written whole
// or not at all, and keeps its permissions; a pipe or a device is written to as it is.
func writeTo(path string, write func(io.Writer) error) error {
	// A link is kept, and the file that it leads to is written.
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	info, err := os.Lstat(path)
	there, perm := err == nil, fs.FileMode(0o644)
	switch {
	case there && info.IsDir():
		return usagef("--out %s: is a folder: want a file", path)
	case there && !info.Mode().IsRegular():
		return pour(path, write)
	case there:
		perm = info.Mode().Perm()
	}
	f, err := atomicfile.New(path, perm)
	if err != nil {
		return named(path, err)
	}
	defer f.Discard()
	if there {
		if err := f.Chmod(perm); err != nil { // whatever the umask
			return named(path, err)
		}
	}
	if err := write(f); err != nil {
		return named(path, err)
	}
	return named(path, f.Commit())
}

// named makes an error name the file that was asked for, and not the temporary one
// that was to replace it.
func named(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, at.Err)
	}
	var moved *os.LinkError
	if errors.As(err, &moved) {
		return fmt.Errorf("%s: %w", path, moved.Err)
	}
	return err
}

// pour writes a complete result into what can't be replaced because it is no
// regular file: a pipe, a device, or a link to a file that does not exist yet.
func pour(path string, write func(io.Writer) error) error {
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return plain(err)
	}
	_, err = f.Write(whole.Bytes())
	return errors.Join(err, f.Close())
}

// writeJSON writes a document with "schema" as its first key.
func writeJSON(w io.Writer, schema string, document any) error {
	b, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(string(b), "{")
	if !ok {
		return fmt.Errorf("document of schema %s is no object", schema)
	}
	if strings.TrimSpace(rest) != "}" {
		rest = "," + rest
	}
	_, err = fmt.Fprintf(w, "{\n  \"schema\": %q%s\n", "colltune."+schema+"/v1", safe.JSON([]byte(rest)))
	return err
}

func (s *sheet) header() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

var csvName = strings.NewReplacer(" ", "_", "gb/s", "gbps", "/", "_per_", "#", "")

func (s *sheet) writeCSV(w io.Writer) error {
	names := s.header()
	for i, n := range names {
		if names[i] = s.columns[i].csv; names[i] == "" {
			names[i] = csvName.Replace(strings.ToLower(n)) // latency us: latency_us
		}
	}
	rows := s.rows
	if len(s.notes) > 0 { // a comment would be a row to most readers
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

// outlet is standard output. It remembers why a write failed.
type outlet struct {
	to     io.Writer
	failed error
}

func (o *outlet) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if o.failed == nil {
		o.failed = err
	}
	return n, err
}
