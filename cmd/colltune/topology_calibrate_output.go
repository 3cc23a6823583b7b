package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/calibrate"
)

// tableName describes a table: "allreduce, 2 nodes", and where others of its file are so
// "allreduce, 1 node, 4 ranks, f16".
func tableName(t *calibrate.Table, all []calibrate.Table) string {
	name, alike := fmt.Sprintf("%s, %s", t.Collective, units.Count(t.Topology.Nodes, "node")), 0
	for _, o := range all {
		if o.File == t.File && o.Collective == t.Collective && o.Topology.Nodes == t.Topology.Nodes && o.DType != "" {
			alike++
		}
	}
	if alike > 1 && t.DType != "" {
		name += fmt.Sprintf(", %s, %s", units.Count(len(t.Topology.Ranks), "rank"), t.DType)
	}
	return name
}

// calibrationRow is one measured time, in JSON.
type calibrationRow struct {
	Table      int     `json:"table"` // index in tables
	Half       string  `json:"half"`  // fitted, judged
	Bytes      int64   `json:"bytes"`
	Library    string  `json:"library,omitempty"` // its choice
	Program    string  `json:"program,omitempty"` // a program's name, with its protocol
	MeasuredUS float64 `json:"measured_us"`
	BeforeUS   float64 `json:"simulated_before_us"`
	AfterUS    float64 `json:"simulated_after_us"`
}

// calibrationTable is a table of measured times and its errors, in JSON.
type calibrationTable struct {
	File       string  `json:"file"`
	Origin     string  `json:"origin"` // library, program
	Collective string  `json:"collective"`
	Nodes      int     `json:"nodes"`
	Ranks      int     `json:"ranks"`
	DType      string  `json:"dtype,omitempty"` // of the library's calls
	OffBefore  float64 `json:"error_before"`
	OffAfter   float64 `json:"error_after"`
}

// calibrationHalf is the errors over half of the rows of an origin, in JSON.
type calibrationHalf struct {
	Half       string  `json:"half"`   // fitted, judged
	Origin     string  `json:"origin"` // library, program
	Rows       int     `json:"rows"`
	OffBefore  float64 `json:"error_before"` // median of |simulated ÷ measured - 1|
	OffAfter   float64 `json:"error_after"`
	MeanBefore float64 `json:"mean_log_error_before"` // mean of |log(simulated ÷ measured)|
	MeanAfter  float64 `json:"mean_log_error_after"`
}

// calibrationResult is the document of calibrate, in JSON.
type calibrationResult struct {
	Numbers   []calibrate.Number `json:"numbers"`
	Rejected  []calibrate.Number `json:"rejected"` // those of a fit that the judging half refused
	Worse     []string           `json:"worse"`    // where its judging rows come out worse
	Bounds    []calibrate.Bound  `json:"bounds_met"`
	Left      []calibrate.Left   `json:"left"`
	Halves    []calibrationHalf  `json:"halves"`
	Tables    []calibrationTable `json:"tables"`
	Rows      []calibrationRow   `json:"rows"`
	OffBefore float64            `json:"error_before"` // median of |simulated ÷ measured - 1| over all rows
	OffAfter  float64            `json:"error_after"`

	none bool // all constants are left alone
}

func halfName(judged bool) string { return map[bool]string{false: "fitted", true: "judged"}[judged] }

// ranAs returns the name of what ran as the library's choice or as a program.
func ranAs(r *calibrate.Row) (library, program string) {
	if r.Origin == calibrate.Program {
		return "", r.Name
	}
	return r.Name, ""
}

func calibrationDocument(tables []calibrate.Table, fit *calibrate.Result) calibrationResult {
	all := fit.AllErrors()
	d := calibrationResult{
		Numbers: calibrate.Numbers(tables, fit.Calibration), Rejected: []calibrate.Number{}, Bounds: append([]calibrate.Bound{}, fit.Met...), Left: append([]calibrate.Left{}, fit.Left...),
		OffBefore: all.Before.Median, OffAfter: all.After.Median, Halves: []calibrationHalf{}, none: !fit.Told,
	}
	if d.Worse = fit.Worse(); len(d.Worse) > 0 {
		d.Rejected = calibrate.Numbers(tables, fit.Tried)
	}
	for _, judged := range []bool{false, true} {
		for _, o := range calibrate.Origins {
			if e := fit.Errors(o, judged); e.Rows > 0 {
				d.Halves = append(d.Halves, calibrationHalf{halfName(judged), o.String(), e.Rows, e.Before.Median, e.After.Median, e.Before.Mean, e.After.Mean})
			}
		}
	}
	for i, t := range tables {
		e := fit.TableErrors(i)
		d.Tables = append(d.Tables, calibrationTable{t.File, t.Origin.String(), t.Collective, t.Topology.Nodes, len(t.Topology.Ranks), t.DType, e.Before.Median, e.After.Median})
	}
	for _, r := range fit.Rows {
		library, program := ranAs(&r)
		d.Rows = append(d.Rows, calibrationRow{r.Table, halfName(r.Judged), r.Bytes, library, program, r.MeasuredUS, r.BeforeUS, r.AfterUS})
	}
	return d
}

func calibrationSheet(tables []calibrate.Table, fit *calibrate.Result) sheet {
	s := sheet{columns: []column{text("table"), number("size"), text("ran"), text("half"), number("measured"), number("simulated"), number("off %").As("off_before_%"), number("fitted"), number("off %")}}
	for _, r := range fit.Rows {
		s.add(tableName(&tables[r.Table], tables), units.Bytes(r.Bytes).String(), r.Name, halfName(r.Judged), fixed(r.MeasuredUS), fixed(r.BeforeUS), signedPercent(r.BeforeUS/r.MeasuredUS), fixed(r.AfterUS), signedPercent(r.AfterUS/r.MeasuredUS))
	}
	if len(tables) == 1 { // the column table would repeat one name
		s.columns = s.columns[1:]
		for i := range s.rows {
			s.rows[i] = s.rows[i][1:]
		}
	}
	s.above = []string{"sizes in bytes, times in us; the library runs the choice of its cost model"}
	for i, t := range tables {
		if e := fit.TableErrors(i); len(tables) > 1 {
			s.below = append(s.below, fmt.Sprintf("%s (%s): median error %s, fitted %s", tableName(&t, tables), t.File, errorText(e.Before.Median), errorText(e.After.Median)))
		}
	}
	s.below = append(s.below, calibrationLines(calibrationDocument(tables, fit))...)
	return s
}

// unjudged lists the origins without times, where numbers change.
func (d *calibrationResult) unjudged() (origins []string) {
	for _, o := range calibrate.Origins {
		if len(d.Numbers) > 0 && !slices.ContainsFunc(d.Tables, func(t calibrationTable) bool { return t.Origin == o.String() }) {
			origins = append(origins, o.String())
		}
	}
	return origins
}

// originFlags are the flags that give times of an origin.
var originFlags = map[string]string{calibrate.Library.String(): "--measured", calibrate.Program.String(): "--runs, --campaign"}

// originNames are origins within a sentence.
var originNames = map[string]string{calibrate.Library.String(): "the library", calibrate.Program.String(): "programs"}

// errorText prints an error: 1.5 %.
func errorText(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

// calibrationLines says what a fit comes to: errors, bounds, and numbers.
func calibrationLines(d calibrationResult) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, h := range d.Halves {
		use := map[string]string{"fitted": "to fit to", "judged": "to judge by"}[h.Half]
		add("%s of %s %s: median error %s, fitted %s; mean %s, fitted %s", units.Count(h.Rows, "time"), originNames[h.Origin], use,
			errorText(h.OffBefore), errorText(h.OffAfter), errorText(math.Expm1(h.MeanBefore)), errorText(math.Expm1(h.MeanAfter)))
	}
	for _, b := range d.Bounds {
		add("bound met: %s, %s: %s", b.Constant, b.Limit, b.Because)
	}
	for _, l := range d.Left {
		add("left alone: %s: %s", l.Constant, l.Because)
	}
	for _, n := range d.Numbers {
		lines = append(lines, n.String())
	}
	for _, n := range d.Rejected {
		lines = append(lines, "refused: "+n.String())
	}
	for _, o := range d.unjudged() {
		add("no times of %s judge this (%s)", originNames[o], originFlags[o])
	}
	switch {
	case len(d.Rejected) > 0:
		add("no number changed: the judging times of %s come out worse", strings.Join(d.Worse, " and of "))
	case d.none:
		add("no number changed: these times tell none")
	case len(d.Numbers) == 0:
		add("no number changed: no change makes the errors clearly smaller")
	}
	return lines
}

// calibrationCSV returns a fit for -o csv, with exact numbers.
func calibrationCSV(tables []calibrate.Table, fit *calibrate.Result) sheet {
	s := sheet{columns: []column{text("size_bytes"), text("library"), text("measured_us"), text("simulated_before_us"), text("simulated_after_us"), text("collective"), text("nodes"), text("program"), text("half")}}
	for _, r := range fit.Rows {
		t := tables[r.Table]
		library, program := ranAs(&r)
		s.add(strconv.FormatInt(r.Bytes, 10), library, exact(r.MeasuredUS), exact(r.BeforeUS), exact(r.AfterUS),
			t.Collective, strconv.Itoa(t.Topology.Nodes), program, halfName(r.Judged))
	}
	return s
}
