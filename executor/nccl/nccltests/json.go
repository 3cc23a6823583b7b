package nccltests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// document is the part of -J's output that is used here. The tests write it by
// hand: booleans are strings, and so are numbers that are not finite.
type document struct {
	Args    []string    `json:"args"`
	Library int         `json:"nccl_version"`
	Config  jsonConfig  `json:"config"`
	Devices []jsonRank  `json:"devices"` // in config since 2.17
	Results *[]jsonRow  `json:"results"`
	Bounds  *jsonBounds `json:"out_of_bounds"`
	Errors  []string    `json:"errors"`
}

type jsonConfig struct {
	Threads int        `json:"nthreads"`
	GPUs    int        `json:"ngpus"`
	Graph   *int       `json:"graph"` // launches of a CUDA graph; 0: none
	Devices []jsonRank `json:"devices"`
}

// jsonRank is the first rank of a process; the others are not listed.
type jsonRank struct {
	Rank int    `json:"rank"`
	Name string `json:"device_info"`
}

type jsonBounds struct {
	Count int `json:"count"`
}

type jsonRow struct {
	Bytes      int64          `json:"size"`
	Count      int64          `json:"count"`
	Type       string         `json:"type"`
	Op         string         `json:"redop"`
	Root       string         `json:"root"`
	OutOfPlace *jsonTiming    `json:"out_of_place"`
	InPlace    *jsonTiming    `json:"in_place"`
	EachOut    *jsonIteration `json:"out_of_place_per_iter"`
	EachIn     *jsonIteration `json:"in_place_per_iter"`
}

type jsonTiming struct {
	Time    *jsonNumber `json:"time"`
	CPUTime *jsonNumber `json:"cpu_time"`
	AlgBW   jsonNumber  `json:"alg_bw"`
	BusBW   jsonNumber  `json:"bus_bw"`
	Wrong   *jsonNumber `json:"nwrong"`
}

type jsonIteration struct {
	Times []jsonNumber `json:"times_us"`
}

// jsonNumber is a number of at least 0. Where nothing was measured the tests write
// "nan", which is read as 0.
type jsonNumber float64

func (n *jsonNumber) UnmarshalJSON(text []byte) error {
	if string(text) == `"nan"` || string(text) == `"-nan"` {
		*n = 0
		return nil
	}
	x, err := number(string(text))
	*n = jsonNumber(x)
	if err != nil {
		return fmt.Errorf("%.40s: want a number", text)
	}
	return nil
}

func parseJSON(name string, text []byte) (*Report, error) {
	d, err := readDocument(name, text)
	if err != nil {
		return nil, err
	}
	r := &Report{Library: version(d.Library), Finished: d.Bounds != nil}
	table := d.table()
	for _, e := range d.Errors {
		if e != "" && len(r.Failures) < maxFailures {
			r.Failures = append(r.Failures, e)
		}
	}
	for i, row := range *d.Results {
		one, err := row.row()
		if err != nil {
			return nil, &Error{name, 1, fmt.Sprintf("results[%d]: %v", i, err)}
		}
		if one.OutOfPlace == nil && one.InPlace == nil {
			if len(r.Failures) < maxFailures {
				r.Failures = append(r.Failures, fmt.Sprintf("the run ended while it measured %d bytes", one.Bytes))
			}
			continue
		}
		table.Rows = append(table.Rows, one)
	}
	if len(table.Rows) == 0 {
		return nil, &Error{name, 1, `"results" is empty: nothing was measured`}
	}
	r.Tables = []Table{table}
	return r, nil
}

// readDocument decodes the one document of a file.
func readDocument(name string, text []byte) (*document, error) {
	fail := func(offset int64, format string, args ...any) error {
		line := 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
		return &Error{name, line, fmt.Sprintf(format, args...)}
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&d); err != nil {
		offset := dec.InputOffset()
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			offset = int64(len(text))
		case errors.As(err, &syntax):
			offset = syntax.Offset
		case errors.As(err, &kind):
			offset = kind.Offset
			err = fmt.Errorf("%s: a %s where a %s is wanted", kind.Field, kind.Value, kind.Type)
		}
		return nil, fail(offset, "JSON of nccl-tests (-J): %v", err)
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, fail(dec.InputOffset(), "more after the document's end: %.20q", rest)
	}
	if d.Results == nil {
		return nil, fail(0, `no "results": not a document of nccl-tests' -J, or of a run that ended before its first size`)
	}
	return &d, nil
}

// table is the document's table without its rows.
func (d *document) table() (t Table) {
	if len(d.Args) > 0 {
		t.Program = programOf(d.Args[0])
	}
	processes := d.Devices
	if len(processes) == 0 {
		processes = d.Config.Devices
	}
	t.Ranks = ranks(len(processes), d.Config.Threads, d.Config.GPUs)
	if d.Config.Graph != nil {
		t.Mode = modeOf(*d.Config.Graph)
	}
	for _, p := range processes {
		t.Devices = append(t.Devices, p.Name)
	}
	if d.Bounds != nil {
		t.OutOfBounds = d.Bounds.Count
	}
	return t
}

// ranks is the number of ranks in n processes with threads and GPUs; 0 if
// the file doesn't say.
func ranks(processes, threads, gpus int) int {
	const most = 1 << 24
	n, err := units.Product(int64(processes), int64(threads), int64(gpus))
	if err != nil || n > most {
		return 0
	}
	return int(n)
}

func (j *jsonRow) row() (Row, error) {
	r := Row{Bytes: j.Bytes, Count: j.Count, Type: j.Type, Op: j.Op, Root: -1}
	if err := r.check(); err != nil {
		return r, err
	}
	if !isType(j.Type) {
		return r, fmt.Errorf("unknown type %.40q", j.Type)
	}
	if text := strings.TrimSpace(j.Root); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return r, fmt.Errorf("root %.40q: want a number", j.Root)
		}
		r.Root = n
	}
	r.OutOfPlace, r.InPlace = j.OutOfPlace.timing(j.EachOut), j.InPlace.timing(j.EachIn)
	return r, nil
}

func (j *jsonTiming) timing(each *jsonIteration) *Timing {
	if j == nil {
		return nil
	}
	t := &Timing{AlgBW: float64(j.AlgBW), BusBW: float64(j.BusBW)}
	for _, us := range []*jsonNumber{j.CPUTime, j.Time} {
		if us != nil {
			t.TimeUS = float64(*us)
		}
	}
	if j.Wrong != nil {
		t.Checked, t.Wrong = true, int64(math.Min(float64(*j.Wrong), 1<<53))
	}
	if each != nil {
		for _, us := range each.Times {
			t.EachUS = append(t.EachUS, float64(us))
		}
	}
	return t
}
