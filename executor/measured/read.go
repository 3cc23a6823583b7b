package measured

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// MaxBytes is the longest file that is read, and maxRows the most rows of one.
const (
	MaxBytes = 128 << 20
	maxRows  = 1_000_000
)

// Format is a form in which others write what they measured, or what they called.
type Format uint8

// The formats, in the order in which they are looked for: CSV takes every file that those before it
// do not. Those from PyTorch on are traces of steps, which package workload reads.
const (
	OSU       Format = iota // OSU micro-benchmarks
	NCCLTests               // nccl-tests and rccl-tests, text or JSON
	MoE                     // DeepEP's and TensorRT-LLM's rows
	CSV                     // columns named as those of a table
	PyTorch                 // PyTorch's profiler
	Chakra                  // MLCommons' execution traces
	NCCLLog                 // NCCL_DEBUG=INFO
)

// formats is how files of each format are told apart, and what reads their rows.
var formats = [...]struct {
	is   func(text []byte) bool
	rows func(*reader, []byte) error
}{
	OSU:       {osuLine().Match, (*reader).readOSU},
	NCCLTests: {func(text []byte) bool { return ncclLine().Match(text) || isJSON(text) }, (*reader).readNCCLTests},
	MoE:       {isMoE, (*reader).readMoE},
	CSV:       {func([]byte) bool { return true }, (*reader).readCSV},
	PyTorch:   {is: func(text []byte) bool { return isJSON(text) && bytes.Contains(text, []byte(`"traceEvents"`)) }},
	Chakra:    {is: isJSON},
	NCCLLog:   {is: func(text []byte) bool { return bytes.Contains(text, []byte("NCCL INFO")) }},
}

var (
	osuLine  = lazyregexp.New(`(?m)^# *OSU `)
	ncclLine = lazyregexp.New(`(?m)^# *(nThread|nccl-tests version|Collective test starting|size +count +type)|^rccl-tests`)
)

func isJSON(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// Sniff returns the first of some formats, in their order, that a file without a byte order
// mark is of; false: none.
func Sniff(text []byte, of ...Format) (Format, bool) {
	for f := range formats {
		if slices.Contains(of, Format(f)) && formats[f].is(text) {
			return Format(f), true
		}
	}
	return 0, false
}

// ofRows lists the formats with rows.
func ofRows() (all []Format) {
	for f := range formats {
		if formats[f].rows != nil {
			all = append(all, Format(f))
		}
	}
	return all
}

// Error reports a line that can't be read.
type Error struct {
	File string
	Line int
	Msg  string
}

// Error begins with file and line.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// reader reads one file. Its methods add rows, each completed by what its source states.
type reader struct {
	Source
	rows   []Row
	others []string // libraries whose rows were left out
	notes  []string
}

// Read reads the rows of a file of measurements, of any of the formats but traces. The notes
// say what was left out. Errors about a line are an *Error.
func Read(s Source, text []byte) (rows []Row, notes []string, err error) {
	// Rows are as many as lines, about; a file of empty lines shall not cost more than it has.
	const most = 1 << 17
	text = files.TrimMark(text)
	r := &reader{Source: s, rows: make([]Row, 0, min(bytes.Count(text, []byte("\n"))+1, len(text)/8, most))}
	if osu, nccl := osuLine().FindIndex(text), ncclLine().FindIndex(text); osu != nil && nccl != nil {
		later := max(osu[0], nccl[0])
		return nil, nil, r.errorf(1+bytes.Count(text[:later], []byte("\n")), "output of OSU micro-benchmarks and of nccl-tests in one file: want a file each, under their libraries' names")
	}
	f, _ := Sniff(text, ofRows()...)
	if err := formats[f].rows(r, text); err != nil {
		return nil, nil, err
	}
	if len(r.rows) == 0 {
		if len(r.others) > 0 {
			return nil, nil, r.errorf(1, "has no rows of %s: it has %s", s.Library, strings.Join(r.others, ", "))
		}
		return nil, nil, r.errorf(1, "nothing was measured in it")
	}
	return r.rows, r.notes, nil
}

func (r *reader) errorf(line int, format string, args ...any) error {
	return &Error{r.Path, line, fmt.Sprintf(format, args...)}
}

// add completes a row and keeps it, unless it is another library's.
func (r *reader) add(row Row, line int) error {
	if row.Source == "" {
		row.Source = SourceOf(r.Path, line)
	}
	other := row.Library
	switch err := r.Complete(&row); {
	case errors.Is(err, errOther):
		if !slices.Contains(r.others, other) && len(r.others) < 20 {
			r.others = append(r.others, other)
		}
		return nil
	case err != nil:
		return r.errorf(line, "%v", err)
	case len(r.rows) == maxRows:
		return r.errorf(line, "more than %d rows: want them in several files", maxRows)
	}
	r.rows = append(r.rows, row)
	return nil
}
