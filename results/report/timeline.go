package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"

	_ "embed"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
)

// Timeline is a page of what several arrangements of the same work take, and when they do
// what.
type Timeline struct {
	Title  string
	Notes  []string
	Totals []Total
	Charts []Lanes
	Tables []TextTable
}

// Total is what an arrangement takes, in microseconds.
type Total struct {
	Label             string
	RestUS, ExposedUS float64 // the sum is the total: computes, and what communication adds
	LowUS, HighUS     float64 // of the total; 0: not known
}

// Lanes is what happens on some streams.
type Lanes struct {
	Title string
	Lanes []Lane
}

// Lane is a stream.
type Lane struct {
	Name  string
	Spans []Span // by rising time
}

// Span is a stretch of time on a stream, in microseconds.
type Span struct {
	Label, Kind    string // a kind has a colour of its own
	BeginUS, EndUS float64
	Critical       bool
}

// TextTable is rows of text below their columns' names.
type TextTable struct {
	Title   string
	Columns []string
	Rows    [][]string
}

//go:embed timeline.tmpl
var timelineText string

// The size of a chart of lanes, in pixels.
const (
	lanesWidth  = 1000
	lanesBegin  = 190 // where time begins: names stand before it
	laneHeight  = 26
	lanesAxis   = 24
	narrowest   = 0.5 // a span; narrower neighbours are laneBox as one
	totalHeight = 24
)

// laneBox is a box as the template draws it.
type laneBox struct {
	X, Y, Width, Height float64
	Class, Title        string
	Critical            bool
}

// laneChart is a chart as the template draws it.
type laneChart struct {
	Title         string
	Width, Height int
	Names         []laneText
	Boxes         []laneBox
	Ticks         []laneText
	Legend        []laneText // its Class is a colour
}

type laneText struct {
	X, Y        float64
	Text, Class string
}

// WritePage writes the timeline as one HTML file that loads nothing. The error is that of
// writing.
func (t *Timeline) WritePage(w io.Writer) error {
	page := struct {
		Title  string
		Notes  []string
		CSS    template.CSS
		Charts []laneChart
		Tables []TextTable
	}{Title: safe.Line(t.Title), CSS: template.CSS(style)}
	for _, n := range t.Notes {
		page.Notes = append(page.Notes, safe.Line(n))
	}
	longest := 0.0
	for _, total := range t.Totals {
		longest = max(longest, total.RestUS+total.ExposedUS, total.HighUS)
	}
	page.Charts = append(page.Charts, t.drawTotals(longest))
	longest = 0 // of all charts, which have one scale
	for _, c := range t.Charts {
		for _, lane := range c.Lanes {
			for _, s := range lane.Spans {
				longest = max(longest, s.EndUS)
			}
		}
	}
	for _, c := range t.Charts {
		page.Charts = append(page.Charts, c.draw(longest))
	}
	for _, table := range t.Tables {
		safeTable := TextTable{Title: safe.Line(table.Title), Columns: table.Columns}
		for _, row := range table.Rows {
			safeTable.Rows = append(safeTable.Rows, lists.Map(row, safe.Line))
		}
		page.Tables = append(page.Tables, safeTable)
	}
	return templateOf("timeline", timelineText).Execute(w, page)
}

// across is where a time stands in a chart, and ticks its axis.
func across(us, longest float64) float64 {
	if longest <= 0 {
		return lanesBegin
	}
	return lanesBegin + us/longest*(lanesWidth-lanesBegin-50)
}

func ticks(longest, y float64) (all []laneText) {
	for i := range 5 {
		us := longest * float64(i) / 4
		all = append(all, laneText{X: across(us, longest), Y: y, Text: strconv.FormatFloat(us, 'g', 4, 64)})
	}
	return all
}

// drawTotals draws a bar for each arrangement, with its interval as a line.
func (t *Timeline) drawTotals(longest float64) laneChart {
	d := laneChart{Title: "What each takes", Width: lanesWidth, Height: len(t.Totals)*totalHeight + lanesAxis, Legend: []laneText{{Text: "without communication", Class: "p3"}, {Text: "what communication adds", Class: "c2"}, {Text: "from the least to the greatest times", Class: "c0"}}}
	for i, total := range t.Totals {
		y := float64(i * totalHeight)
		title := fmt.Sprintf("%s: %.2f us", safe.Line(total.Label), total.RestUS+total.ExposedUS)
		if total.HighUS > 0 {
			title += fmt.Sprintf(", from %.2f to %.2f", total.LowUS, total.HighUS)
		}
		d.Names = append(d.Names, laneText{Y: y + 16, Text: short(total.Label)})
		d.Boxes = append(d.Boxes,
			laneBox{X: across(0, longest), Y: y + 3, Width: across(total.RestUS, longest) - across(0, longest), Height: totalHeight - 8, Class: "p3", Title: title},
			laneBox{X: across(total.RestUS, longest), Y: y + 3, Width: across(total.RestUS+total.ExposedUS, longest) - across(total.RestUS, longest), Height: totalHeight - 8, Class: "c2", Title: title})
		if total.HighUS > 0 {
			d.Boxes = append(d.Boxes, laneBox{X: across(total.LowUS, longest), Y: y + 10, Width: across(total.HighUS, longest) - across(total.LowUS, longest), Height: 2, Class: "c0", Title: title})
		}
	}
	d.Ticks = ticks(longest, float64(d.Height-6))
	return d
}

// short cuts a name to what stands before a chart.
func short(name string) string {
	const most = 26
	r := []rune(safe.Line(name))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// draw draws the spans of lanes, neighbours that are too narrow as one.
func (c *Lanes) draw(longest float64) laneChart {
	d := laneChart{Title: safe.Line(c.Title), Width: lanesWidth, Height: len(c.Lanes)*laneHeight + lanesAxis}
	var kinds []string
	for i, lane := range c.Lanes {
		y := float64(i * laneHeight)
		d.Names = append(d.Names, laneText{Y: y + 17, Text: short(lane.Name)})
		joined, n := laneBox{}, 0
		flush := func() {
			if n > 1 {
				joined.Title = fmt.Sprintf("%d ops", n)
			}
			if n > 0 {
				d.Boxes = append(d.Boxes, joined)
			}
			n = 0
		}
		for _, s := range lane.Spans {
			x, end := across(s.BeginUS, longest), across(s.EndUS, longest)
			class := "p3"
			if s.Kind != "" {
				k := slices.Index(kinds, s.Kind)
				if k < 0 {
					k = len(kinds)
					kinds = append(kinds, s.Kind)
				}
				class = fmt.Sprintf("c%d", 1+k%8)
			}
			if n > 0 && x-joined.X < narrowest && class == joined.Class {
				joined.Width, joined.Critical = max(joined.Width, end-joined.X), joined.Critical || s.Critical
				n++
				continue
			}
			flush()
			joined, n = laneBox{X: x, Y: y + 3, Width: max(end-x, narrowest/2), Height: laneHeight - 7, Class: class, Critical: s.Critical,
				Title: safe.Line(fmt.Sprintf("%s: %.2f to %.2f us", s.Label, s.BeginUS, s.EndUS))}, 1
		}
		flush()
	}
	d.Legend = append(d.Legend, laneText{Text: "compute", Class: "p3"})
	for k, kind := range kinds {
		d.Legend = append(d.Legend, laneText{Text: safe.Line(kind), Class: fmt.Sprintf("c%d", 1+k%8)})
	}
	d.Ticks = ticks(longest, float64(d.Height-6))
	return d
}
