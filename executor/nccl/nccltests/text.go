package nccltests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
)

// maxFailures is how many lines of failure a report keeps.
const maxFailures = 8

// launcherPrefix is the label that mpirun --tag-output and srun --label put before
// a line.
var launcherPrefix = lazyregexp.New(`^(?:\[\d+,\d+\](?:<std(?:out|err|diag)>)?:? ?| *\d+: )`)

// failing lists words that only lines about failures contain.
var failing = []string{
	"Test NCCL failure", "Test CUDA failure", "Test HIP failure", "Test failure", "Test timeout", "NCCL WARN", "# error:",
	"due to memory limitation", "invalid option",
	"srun: error:", "srun: Job step aborted", "slurmstepd: error:", "*** Process received signal", "MPI_ABORT was invoked",
}

// Words in a table's header that name the columns of a placement.
const (
	columnTime  = "time"
	columnWrong = "#wrong"
)

// textReader reads the printed form line by line.
type textReader struct {
	name    string
	line    int
	report  Report
	ranks   map[string]bool // from the device lines since the last table
	devices []string
	places  map[string]bool // of these: host, number and bus
	header  []string        // names of the current columns; nil before the first header
	inPlace bool            // the columns are of one placement, which is in place
	program string
	mode    string // of the last line nThread
	open    bool   // rows have come since the header, and go to the last table
	ended   bool   // that table has its footer
}

func parseText(name, text string) (*Report, error) {
	r := &textReader{name: name, ranks: map[string]bool{}, places: map[string]bool{}}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		r.line++
		if err := r.take(strings.TrimRight(line, "\r")); err != nil {
			return nil, err
		}
	}
	if len(r.report.Tables) == 0 {
		why := "no row of nccl-tests' table: want lines of size, count, type, …, time, algbw, busbw"
		if len(r.report.Failures) > 0 {
			why += "; it says: " + r.report.Failures[0]
		}
		return nil, &Error{name, max(r.line, 1), why}
	}
	return &r.report, nil
}

func (r *textReader) take(line string) error {
	line = launcherPrefix().ReplaceAllString(line, "")
	failed := r.failure(line)
	if comment, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#"); ok {
		return r.comment(comment)
	}
	fields := strings.Fields(line)
	if r.looksLikeRow(fields) {
		if failed {
			return nil // the row was begun before its time was known, and ends in the failure
		}
		return r.row(fields)
	}
	// rccl-tests prints these without the # in front.
	if _, v, ok := strings.Cut(line, "RCCL version"); ok {
		if words := strings.Fields(strings.TrimLeft(v, " :")); len(words) > 0 && r.report.Library == "" {
			r.report.Library, _, _ = strings.Cut(words[0], "+")
		}
	}
	if v, ok := strings.CutPrefix(line, "rccl-tests: Version "); ok {
		r.report.Tests = strings.TrimSpace(v)
	}
	return nil
}

// looksLikeRow tells rows from other lines. A row begins with a size, a count and
// a type. Below a header two of these are enough, or as many fields as the header
// has, most of them numbers. Thus a row into which something was printed is
// refused as a broken row, instead of being passed over as if nobody had measured
// it.
func (r *textReader) looksLikeRow(fields []string) bool {
	if len(fields) < 3 {
		return false
	}
	begins := 0
	for _, is := range []bool{wholeNumber(fields[0]), wholeNumber(fields[1]), isType(fields[2])} {
		if is {
			begins++
		}
	}
	if begins == 3 || r.header == nil || r.ended {
		return begins == 3
	}
	numbers := 0
	for _, f := range fields {
		if _, err := number(f); err == nil {
			numbers++
		}
	}
	return begins == 2 || len(fields) == len(r.header) && 2*numbers > len(fields)
}

// failure reports whether a line is about a failure, and keeps it if so.
func (r *textReader) failure(line string) bool {
	if !slices.ContainsFunc(failing, func(w string) bool { return strings.Contains(line, w) }) {
		return false
	}
	if len(r.report.Failures) < maxFailures {
		const most = 300
		r.report.Failures = append(r.report.Failures, fmt.Sprintf("%.*s", most, strings.TrimSpace(line)))
	}
	return true
}

// comment reads the rest of a line that begins with #.
func (r *textReader) comment(s string) error {
	words := strings.Fields(s)
	switch {
	case len(words) >= 3 && words[0] == "nccl-tests" && words[1] == "version":
		r.report.Tests = words[2]
		for _, w := range words[3:] {
			if code, ok := strings.CutPrefix(w, "nccl-library="); ok {
				n, _ := strconv.Atoi(code)
				r.report.Library = version(n)
			}
		}
	case len(words) > 0 && words[0] == "nThread":
		r.mode = ""
		if i := slices.Index(words, "graph:"); i >= 0 && i+1 < len(words) {
			if n, err := strconv.Atoi(words[i+1]); err == nil {
				r.mode = modeOf(n)
			}
		}
	case strings.HasPrefix(s, " Collective test starting:"):
		r.begin()
		r.program = programOf(words[len(words)-1])
	case len(words) >= 2 && words[0] == "Using" && words[1] == "devices":
		r.begin()
	case len(words) >= 2 && words[0] == "Rank" && wholeNumber(words[1]):
		if at, name, ok := strings.Cut(s, "] "); ok && !r.ranks[words[1]] {
			_, at, _ = strings.Cut(at, " on ")
			at = strings.Join(strings.Fields(at), " ")
			if !r.places[at] { // ranks may share one
				r.devices = append(r.devices, strings.TrimSpace(name))
			}
			r.places[at] = true
		}
		r.ranks[words[1]] = true
	case len(words) == 1 && words[0] == "in-place": // rccl-tests with -O 0
		r.begin()
		r.inPlace = true
	case len(words) >= 3 && words[0] == "size" && words[1] == "count" && words[2] == "type":
		r.begin()
		r.header = words
	case strings.HasPrefix(s, " Out of bounds values"):
		if r.ended {
			return r.several("a second end")
		}
		if n, t := len(words), r.table(); t != nil && n >= 6 {
			t.OutOfBounds, _ = strconv.Atoi(words[5])
			r.report.Finished, r.ended = true, true
		}
	}
	return nil
}

// several refuses the output of several programs printed into each other, in which
// a row may be anyone's.
func (r *textReader) several(what string) error {
	return r.errorf("%s of one table: several programs printed at once; under a launcher nccl-tests must be built with MPI=1", what)
}

// begin notes that another program's output begins.
func (r *textReader) begin() {
	if r.open {
		r.open, r.ended, r.header, r.inPlace, r.program, r.ranks, r.devices, r.places = false, false, nil, false, "", map[string]bool{}, nil, map[string]bool{}
	}
}

func (r *textReader) table() *Table {
	if !r.open {
		return nil
	}
	return &r.report.Tables[len(r.report.Tables)-1]
}

// plainHeader is the header of tables since 2.14, for files that have lost theirs.
var plainHeader = strings.Fields("size count type redop root time algbw busbw #wrong time algbw busbw #wrong")

// columns names the columns of a row. Without a header only the form with all
// columns is recognised.
func (r *textReader) columns(fields []string) ([]string, error) {
	header := r.header
	if header == nil {
		if len(fields) != len(plainHeader) || !integer(fields[4]) {
			return nil, r.errorf("row of %d fields without a header before it: want a line such as # size count type redop root time algbw busbw #wrong …", len(fields))
		}
		header = plainHeader
	}
	want := len(header)
	if header[want-1] == "timestamp" {
		want++ // a time stamp: a date and a time
	}
	if len(fields) != want {
		return nil, r.errorf("row of %d fields: want the %d of the header (%s); did another process print into it?", len(fields), want, strings.Join(header, " "))
	}
	return header, nil
}

// withReduction inserts the reduction where alltoall_perf left its column blank,
// as it did before 2.13.
func (r *textReader) withReduction(fields []string) []string {
	const at = 3
	if len(r.header) != len(fields)+1 || len(fields) <= at || r.header[at] != "redop" || r.header[at+1] == "root" {
		return fields
	}
	if _, err := number(fields[at]); err != nil {
		return fields
	}
	return slices.Insert(slices.Clone(fields), at, "none")
}

func (r *textReader) row(fields []string) error {
	if r.ended {
		return r.several("a row after the end")
	}
	fields = r.withReduction(fields)
	header, err := r.columns(fields)
	if err != nil {
		return err
	}
	row := Row{Line: r.line, Root: -1}
	var at *Timing
	for i, column := range header {
		text := fields[i]
		var err error
		switch column {
		case "size":
			row.Bytes, err = strconv.ParseInt(text, 10, 64)
		case "count":
			row.Count, err = strconv.ParseInt(text, 10, 64)
		case "type":
			if row.Type = text; !isType(text) {
				return r.errorf("column type: %q: want one of nccl-tests' element types", text)
			}
		case "redop":
			row.Op = text
		case "root":
			row.Root, err = strconv.Atoi(text)
		case columnTime, "cputime":
			// Out of place comes first, if the table has it.
			at = &Timing{}
			if row.OutOfPlace == nil && !r.inPlace {
				row.OutOfPlace = at
			} else {
				row.InPlace = at
			}
			at.TimeUS, err = number(text)
		case "algbw", "busbw", columnWrong, "error":
			if at == nil {
				return r.errorf("column %s before any column time", column)
			}
			err = at.column(column, row.Type, text)
		case "i_min", "i_max", "i_p99", "i_cv%":
			_, err = number(text)
		case "timestamp":
		default:
			return r.errorf("unknown column %q in the table's header", column)
		}
		if err != nil {
			return r.errorf("column %s: %q: want a number", column, text)
		}
	}
	if at == nil {
		return r.errorf("the table's header has no column time")
	}
	if err := row.check(); err != nil {
		return r.errorf("%v", err)
	}
	r.add(row)
	return nil
}

// column sets one of the figures that stand beside the time.
func (t *Timing) column(name, dtype, text string) (err error) {
	switch name {
	case "algbw":
		t.AlgBW, err = number(text)
	case "busbw":
		t.BusBW, err = number(text)
	default:
		if text == "N/A" || text == "None" {
			return nil
		}
		var wrong float64
		figure, starred := strings.CutSuffix(text, "*") // rccl-tests marks an error that is too large
		wrong, err = number(figure)
		t.Checked = true
		switch {
		case name == columnWrong:
			t.Wrong = int64(min(wrong, 1<<53))
		case starred || wrong > oldTolerance(dtype):
			t.Wrong = 1
		}
	}
	return err
}

// oldTolerance is the error above which tests until 2.11, whose tables showed
// errors, called a result out of bounds.
func oldTolerance(dtype string) float64 {
	switch dtype {
	case "half", "bfloat16":
		return 1e-2
	case "float":
		return 1e-5
	case "double":
		return 1e-12
	}
	return 1e-200
}

// add adds a row to the current table, or to a new one.
func (r *textReader) add(row Row) {
	if !r.open {
		r.report.Tables = append(r.report.Tables, Table{Program: r.program, Ranks: len(r.ranks), Mode: r.mode, Devices: r.devices})
		r.open, r.report.Finished = true, false
	}
	t := r.table()
	t.Rows = append(t.Rows, row)
}

func (r *textReader) errorf(format string, args ...any) error {
	return &Error{r.name, r.line, fmt.Sprintf(format, args...)}
}

// number reads a number that the tests may print, such as 12.34 or 1.2e+07: finite
// and not below 0.
func number(s string) (float64, error) {
	x, err := units.ParseDecimal(s)
	if err == nil && x < 0 {
		err = strconv.ErrRange
	}
	return x, err
}

// wholeNumber tells sizes and counts from other words.
func wholeNumber(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

func integer(s string) bool { return wholeNumber(strings.TrimPrefix(s, "-")) }
