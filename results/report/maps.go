package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// Maps is a page of maps of who is the fastest where.
type Maps struct {
	Title string
	Notes []string
	Maps  []Map
}

// Map is the calls that differ in their size and in one more number, such as the ranks.
type Map struct {
	Title  string
	Number string   // what a cell's number is; empty: how many times as long the next takes
	Rows   []MapRow // from the top
}

// MapRow is the calls of all sizes.
type MapRow struct {
	Label  string    // such as 8 ranks
	Cells  []MapCell // by rising size
	Lines  []MapLine // of those that compete
	Alone  []MapAlone
	Mixing float64 // geometric mean of the best single one's time over that of the best at each size; 0: not known
	// Head and Table are a table below the curves; none: there is none.
	Head  []string
	Table [][]string
}

// MapCell is the fastest at a size.
type MapCell struct {
	Bytes  int64
	Winner string
	US     float64
	Second string  // empty: there is none
	Ahead  float64 // the second's time over the winner's; for a campaign's winner, the baseline's
	Near   bool    // the two are the same within noise
	Note   string  // for the tooltip
}

// MapLine is what one takes over the sizes.
type MapLine struct {
	Label  string
	Points []MapPoint // by rising size
}

// MapPoint is what it takes at one.
type MapPoint struct {
	Bytes int64
	US    float64
}

// MapAlone is what one would take alone where the best of all could be used.
type MapAlone struct {
	Label     string
	Sizes, Of int     // at Sizes of the Of sizes
	Ratio     float64 // geometric mean over its sizes
}

//go:embed maps.tmpl
var mapsText string

type drawnMap struct {
	Title  string
	Number string
	Heat   *chart
	Legend []legendItem
	Rows   []drawnRow
}

type legendItem struct{ Class, Label, Text string }

type drawnRow struct {
	Label  string
	Mixing string
	Curves *chart
	Alone  []drawnAlone
	Head   []string
	Table  [][]string
}

type drawnAlone struct{ Class, Label, Sizes, Ratio string }

// Write writes the maps as one HTML file that loads nothing. The error is that of writing.
func (m *Maps) Write(w io.Writer) error {
	drawn := struct {
		Title string
		Notes []string
		CSS   template.CSS
		Maps  []drawnMap
	}{Title: clip(m.Title, nameRoom), CSS: template.CSS(style)}
	for _, n := range m.Notes {
		drawn.Notes = append(drawn.Notes, clip(n, noteRoom))
	}
	for i := range m.Maps {
		drawn.Maps = append(drawn.Maps, m.Maps[i].draw())
	}
	return write(w, templateOf("maps", mapsText, chartText), drawn)
}

// draw gives each that wins a colour, as far as there are colours, and then the others.
func (m *Map) draw() drawnMap {
	wins, calls := map[string]int{}, 0 // how many calls each is the fastest at
	for _, r := range m.Rows {
		for _, c := range r.Cells {
			wins[c.Winner]++
			calls++
		}
	}
	d := drawnMap{Title: clip(m.Title, nameRoom), Number: m.Number}
	if d.Number == "" {
		d.Number = "A number is how many times as long the next takes; ≈: the same within noise."
	}
	of := map[string]string{}
	colour := func(name string) string {
		if of[name] == "" {
			of[name] = "c0"
			if len(of) <= palette {
				of[name] = fmt.Sprintf("c%d", len(of))
			}
		}
		return of[name]
	}
	for _, n := range byCount(wins) {
		d.Legend = append(d.Legend, legendItem{colour(n), clip(n, nameRoom), fmt.Sprintf("%d of %d", wins[n], calls)})
	}
	sizes := m.sizes()
	d.Heat = m.heat(sizes, colour)
	for i := range m.Rows {
		d.Rows = append(d.Rows, m.Rows[i].draw(sizes, colour))
	}
	return d
}

// sizes lists all sizes, rising.
func (m *Map) sizes() (all []int64) {
	for _, r := range m.Rows {
		for _, c := range r.Cells {
			all = append(all, c.Bytes)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The height of a row of a heat map, and the width of a character in a cell.
const (
	heatRow       = 26
	heatCharacter = 7
)

// heat draws a cell for each call: its colour is the winner's, its number how far ahead.
func (m *Map) heat(sizes []int64, colour func(string) string) *chart {
	if len(sizes) == 0 {
		return nil
	}
	c := chart{Width: 960, Left: 90, Top: 6, Right: 950, Title: m.Title}
	c.Bottom = c.Top + heatRow*float64(len(m.Rows))
	c.Height = c.Bottom + 24
	x := sizeScale(sizes, c.Left, c.Right)
	c.X = sizeTicks(x, sizes, 14)
	edge := func(i int) float64 { // between a size and the one before
		switch i {
		case 0:
			return c.Left
		case len(sizes):
			return c.Right
		}
		return (x.at(float64(sizes[i-1])) + x.at(float64(sizes[i]))) / 2
	}
	for r, row := range m.Rows {
		top := c.Top + heatRow*float64(r)
		c.Y = append(c.Y, tick{top + heatRow/2, clip(row.Label, wordRoom)})
		for _, cell := range row.Cells {
			i, _ := slices.BinarySearch(sizes, cell.Bytes)
			b := band{X: edge(i), Y: top, Width: edge(i+1) - edge(i), Height: heatRow, Class: colour(cell.Winner), Tooltip: cell.text(row.Label)}
			label := ""
			switch {
			case cell.Near:
				label = "≈"
			case cell.Ahead > 0:
				label = brief(cell.Ahead)
			}
			if heatCharacter*float64(len([]rune(label))) <= b.Width {
				b.Label = label
			}
			c.Bands = append(c.Bands, b)
		}
	}
	return &c
}

func (c *MapCell) text(row string) string {
	says := fmt.Sprintf("%s, %s: %s, %s us", row, sizeText(c.Bytes), clip(c.Winner, nameRoom), brief(c.US))
	if c.Second != "" {
		says += fmt.Sprintf("; %s takes %s times as long", clip(c.Second, nameRoom), brief(c.Ahead))
		if c.Near {
			says += ", the same within noise"
		}
	}
	if c.Note != "" {
		says += "; " + clip(c.Note, nameRoom)
	}
	return says
}

// draw draws a row's curves, and what each would take alone.
func (r *MapRow) draw(sizes []int64, colour func(string) string) drawnRow {
	d := drawnRow{Label: clip(r.Label, wordRoom), Head: r.Head}
	for _, line := range r.Table {
		d.Table = append(d.Table, lists.Map(line, func(text string) string { return clip(text, nameRoom) }))
	}
	if r.Mixing > 0 {
		d.Mixing = brief(r.Mixing)
	}
	var all []series
	for _, l := range r.Lines {
		s := series{class: colour(l.Label), label: clip(l.Label, wordRoom)}
		if s.class == "c0" {
			continue // one of more than can be told apart
		}
		for _, p := range l.Points {
			gbps := float64(p.Bytes) / p.US / 1e3
			s.points = append(s.points, point{x: p.Bytes, value: gbps, tooltip: fmt.Sprintf("%s, %s: %s GB/s, %s us", clip(l.Label, nameRoom), sizeText(p.Bytes), brief(gbps), brief(p.US))})
		}
		all = append(all, s)
	}
	c := wide
	c.Title, c.Unit = "Bandwidth over size, "+d.Label, "GB/s"
	d.Curves = over(sizes, c, true, nil, all...)
	for _, a := range r.Alone {
		ratio := ""
		if a.Ratio > 0 && !math.IsInf(a.Ratio, 0) {
			ratio = brief(a.Ratio)
		}
		d.Alone = append(d.Alone, drawnAlone{colour(a.Label), clip(a.Label, nameRoom), fmt.Sprintf("%d of %d", a.Sizes, a.Of), ratio})
	}
	return d
}
