package nccltests

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/units"
)

// Report is the content of a file of nccl-tests' output.
type Report struct {
	Tests   string // version of nccl-tests; empty where it isn't told
	Library string // version of the library, such as 2.30.7
	Tables  []Table
	// Failures are the first few lines by which the tests or the library say that
	// something went wrong.
	Failures []string
	// Finished tells that the last table has its footer, so that the program ran
	// to its end.
	Finished bool
}

// Table is the table of one program.
type Table struct {
	Program     string   // all_reduce_perf; empty where the file doesn't say
	Ranks       int      // 0 where the file doesn't say
	Mode        string   // eager, or graph where calls are replayed from a CUDA graph; empty where the file doesn't say
	Devices     []string // names of the GPUs they run on, each GPU once, as far as it is told
	Rows        []Row
	OutOfBounds int // results the program itself found wrong
}

// Row is the row of one size.
type Row struct {
	Line  int   // of the file; 0 in JSON
	Bytes int64 // as printed; 0 if the size was less than an element
	Count int64 // elements
	Type  string
	Op    string // none where nothing is reduced; empty where the table has no such column
	Root  int    // -1: none
	// OutOfPlace and InPlace are nil where not measured.
	OutOfPlace, InPlace *Timing
}

// Timing is a row's measurement in one placement.
type Timing struct {
	TimeUS  float64 // of an iteration, the mean
	AlgBW   float64 // GB/s
	BusBW   float64
	Wrong   int64 // elements; 1 if an old table shows too large an error
	Checked bool
	// EachUS are the times of single iterations, if they were printed (-I 1,
	// JSON).
	EachUS []float64
}

// Program returns the name of a collective's test program; "": there is none.
func Program(name string) string {
	if theirs := collective.NCCLTests.OfCollective(name); theirs != "" {
		return theirs + perf
	}
	return ""
}

// perf ends the names of test programs.
const perf = "_perf"

// modeOf is the mode of a number of graph launches (-G).
func modeOf(launches int) string {
	if launches > 0 {
		return "graph"
	}
	return "eager"
}

// Collective returns the collective of the table's program; "": unknown.
func (t *Table) Collective() string {
	name, _ := strings.CutSuffix(t.Program, perf)
	return collective.NCCLTests.Collective(name)
}

// programOf finds a test program's name in a path or a word.
func programOf(s string) string {
	name := strings.TrimSuffix(path.Base(s), ".exe")
	if strings.HasSuffix(name, perf) {
		return name
	}
	return ""
}

// DType returns the row's element type by colltune's name; "": programs compute with none
// such.
func (r *Row) DType() string {
	if name := collective.NCCLTests.DType(r.Type); slices.Contains(collective.DTypes(), name) {
		return name
	}
	return ""
}

// check returns an error for a size that no call has.
func (r *Row) check() error {
	if r.Bytes < 0 || r.Bytes > units.MostBytes || r.Count < 0 || r.Count > units.MostBytes {
		return fmt.Errorf("size %d, count %d: want 0 to %d, a PiB", r.Bytes, r.Count, int64(units.MostBytes))
	}
	return nil
}

func isType(s string) bool { return collective.NCCLTests.DType(s) != "" }

// Timing returns the row's measurement in a placement, "in" or "out"; nil: not measured.
func (r *Row) Timing(placement string) *Timing {
	if placement == "in" {
		return r.InPlace
	}
	return r.OutOfPlace
}

// Error reports a line that can't be read.
type Error struct {
	File string
	Line int
	Msg  string
}

// Error begins with file and line.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Parse reads the output of nccl-tests, text or JSON. name is the file's name in errors,
// each of which is an *Error. Output without a table is an error.
func Parse(name string, text []byte) (*Report, error) {
	text = files.TrimMark(text)
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return parseJSON(name, text)
	}
	return parseText(name, string(text))
}

// version prints NCCL's version code as people write it: 23007 is 2.30.7, and
// 2708, the form before 2.9, is 2.7.8.
func version(code int) string {
	switch {
	case code <= 0:
		return ""
	case code < 10000:
		return fmt.Sprintf("%d.%d.%d", code/1000, code/100%10, code%100)
	}
	return fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
}
