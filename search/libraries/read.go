package libraries

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/files"
)

// MaxBytes is the longest file that is read, and maxRows the most rows of one.
const (
	MaxBytes = 128 << 20
	maxRows  = 1_000_000
)

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
	base   string // the file's name without its folder, as rows have it
	rows   []Row
	others []string // libraries whose rows were left out
	notes  []string
}

// Formats of measurements that Read tells apart.
var (
	osuLine  = regexp.MustCompile(`(?m)^# *OSU `)
	ncclLine = regexp.MustCompile(`(?m)^# *(nThread|nccl-tests version|Collective test starting|size +count +type)|^rccl-tests`)
)

// Read reads a file of measurements: a table of ours, nccl-tests' or rccl-tests' text or
// JSON, OSU micro-benchmarks' text, DeepEP's and TensorRT-LLM's rows, or CSV with named columns. The notes say what was left
// out. Errors about a line are an *Error.
func Read(s Source, text []byte) (rows []Row, notes []string, err error) {
	// Rows are as many as lines, about; a file of empty lines shall not cost more than it has.
	const most = 1 << 17
	text = files.TrimMark(text)
	r := &reader{Source: s, base: sourceName(s.Path), rows: make([]Row, 0, min(bytes.Count(text, []byte("\n"))+1, len(text)/8, most))}
	osu, nccl := osuLine.FindIndex(text), ncclLine.FindIndex(text)
	switch {
	case osu != nil && nccl != nil:
		later := max(osu[0], nccl[0])
		err = r.errorf(1+bytes.Count(text[:later], []byte("\n")), "output of OSU micro-benchmarks and of nccl-tests in one file: want a file each, under their libraries' names")
	case osu != nil:
		err = r.readOSU(text)
	case nccl != nil || bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		err = r.readNCCLTests(text)
	case isMoE(text):
		err = r.readMoE(text)
	default:
		err = r.readCSV(text)
	}
	if err != nil {
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

// SourceOf is a line of a file, as a row's source has it.
func SourceOf(file string, line int) string { return fmt.Sprintf("%s:%d", sourceName(file), line) }

// sourceName is a file's name without its folder, with room for a line's number.
func sourceName(file string) string { return safeWord(path.Base(filepath.ToSlash(file)), maxWord-20) }

func (r *reader) errorf(line int, format string, args ...any) error {
	return &Error{r.Path, line, fmt.Sprintf(format, args...)}
}

// add completes a row and keeps it, unless it is another library's.
func (r *reader) add(row Row, line int) error {
	if row.Source == "" {
		row.Source = fmt.Sprintf("%s:%d", r.base, line)
	}
	other := row.Library
	switch err := r.complete(&row); {
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
