package nccltests

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

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

// programs are the test programs and the collectives they measure.
var programs = []struct{ program, collective string }{
	{"all_reduce_perf", "allreduce"},
	{"all_gather_perf", "allgather"},
	{"reduce_scatter_perf", "reducescatter"},
	{"alltoall_perf", "alltoall"},
	{"broadcast_perf", "broadcast"},
	{"reduce_perf", "reduce"},
	{"gather_perf", "gather"},
	{"scatter_perf", "scatter"},
	{"sendrecv_perf", "sendrecv"},
}

// Program returns the name of a collective's test program; "": there is none.
func Program(collective string) string {
	for _, p := range programs {
		if p.collective == collective {
			return p.program
		}
	}
	return ""
}

// Collectives lists the collectives with a test program.
func Collectives() []string {
	var names []string
	for _, p := range programs {
		names = append(names, p.collective)
	}
	return names
}

// modeOf is the mode of a number of graph launches (-G).
func modeOf(launches int) string {
	if launches > 0 {
		return "graph"
	}
	return "eager"
}

// Collective returns the collective of the table's program; "": unknown.
func (t *Table) Collective() string {
	for _, p := range programs {
		if p.program == t.Program {
			return p.collective
		}
	}
	return ""
}

// programOf finds a test program's name in a path or a word.
func programOf(s string) string {
	name := strings.TrimSuffix(path.Base(s), ".exe")
	if strings.HasSuffix(name, "_perf") {
		return name
	}
	return ""
}

// types are nccl-tests' names of element types, and our own.
var types = []struct{ theirs, ours string }{
	{"int8", "i8"}, {"uint8", "u8"}, {"int32", "i32"}, {"uint32", "u32"}, {"int64", "i64"}, {"uint64", "u64"},
	{"half", "f16"}, {"float", "f32"}, {"double", "f64"}, {"bfloat16", "bf16"},
	{"char", "i8"}, {"int", "i32"}, // names before 2.4
	{"f8e4m3", ""}, {"f8e5m2", ""}, {"fp8_e4m3", ""}, {"fp8_e5m2", ""}, // types that we lack
}

// TypeName returns nccl-tests' name of an element type of colltune; "": it has none.
func TypeName(dtype string) string {
	for _, t := range types {
		if t.ours == dtype && dtype != "" {
			return t.theirs
		}
	}
	return ""
}

// DType returns the row's element type by colltune's name; "": it has none.
func (r *Row) DType() string {
	for _, t := range types {
		if t.theirs == r.Type {
			return t.ours
		}
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

func isType(s string) bool {
	return slices.ContainsFunc(types, func(t struct{ theirs, ours string }) bool { return t.theirs == s })
}

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
